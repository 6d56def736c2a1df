//! Whom messages come from and go to.

use std::collections::BTreeSet;

use brunt_protocols::Secret;

/// A user with a mailbox.
#[derive(Clone, Debug)]
pub struct Account {
    /// The mail address.
    pub address: String,
    /// The name for the login, which may be the address.
    pub user: String,
    /// The password or token.
    pub secret: Secret,
}

/// The accounts of a run, by number.
#[derive(Clone, Debug)]
pub struct Accounts(Vec<Account>);

/// Why accounts cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountsError {
    /// There must be one.
    #[error("no accounts")]
    None,
    /// Two have the same address: what one is owed could not be told from what the other one is.
    #[error("two accounts have the address {0}")]
    Twice(String),
}

impl Accounts {
    /// These accounts.
    ///
    /// # Errors
    /// When there are none, or two with one address.
    pub fn new(accounts: Vec<Account>) -> Result<Self, AccountsError> {
        if accounts.is_empty() {
            return Err(AccountsError::None);
        }
        let mut known = BTreeSet::new();
        for account in &accounts {
            if !known.insert(account.address.to_ascii_lowercase()) {
                return Err(AccountsError::Twice(account.address.clone()));
            }
        }
        Ok(Self(accounts))
    }

    /// How many there are: at least one.
    pub fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// One of them.
    pub fn get(&self, number: u32) -> Option<&Account> {
        self.0.get(number as usize)
    }

    /// One of them; numbers go round.
    pub(crate) fn round(&self, number: u32) -> &Account {
        &self.0[(number % self.count()) as usize]
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, Account> {
        self.0.iter()
    }

    /// Their addresses, in the order of their numbers.
    pub fn addresses(&self) -> Vec<String> {
        self.0.iter().map(|account| account.address.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_differ_whatever_their_case() {
        let account = |address: &str| Account {
            address: address.to_owned(),
            user: "u".to_owned(),
            secret: Secret::new("hunter2"),
        };
        assert_eq!(Accounts::new(Vec::new()).err(), Some(AccountsError::None));
        let twice = Accounts::new(vec![account("a@b.invalid"), account("A@B.invalid")]).err();
        assert_eq!(twice, Some(AccountsError::Twice("A@B.invalid".to_owned())));
        let two = Accounts::new(vec![account("a@b.invalid"), account("c@b.invalid")]);
        let two = two.expect("different ones");
        assert_eq!((two.count(), two.addresses()[1].as_str()), (2, "c@b.invalid"));
        assert_eq!(two.round(5).address, "c@b.invalid");
        assert!(!format!("{two:?}").contains("hunter2"));
    }
}
