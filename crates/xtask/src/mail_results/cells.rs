//! The cells: servers, and what is done to them.

/// Servers, as a scenario names them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Servers {
    /// In the name of a cell.
    pub(crate) key: &'static str,
    /// On the page.
    pub(crate) title: &'static str,
    lines: &'static str,
    has_relay: bool,
    is_dovecot: bool,
}

/// What is done to them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// In the name of a cell.
    pub(crate) key: &'static str,
    /// On the page.
    pub(crate) title: &'static str,
    lines: &'static str,
    events: &'static str,
    deliveries: u32,
    needs_relay: bool,
    needs_dovecot: bool,
    /// How often it is run.
    pub(crate) times: u32,
}

/// One scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) servers: Servers,
    pub(crate) fault: Fault,
}

const SERVERS: [Servers; 7] = [
    dovecot("dovecot-sdbox", "Dovecot, sdbox", "server = \"dovecot\"\nstore = \"sdbox\"\n"),
    dovecot("dovecot-maildir", "Dovecot, maildir", "server = \"dovecot\"\nstore = \"maildir\"\n"),
    dovecot("dovecot-mdbox", "Dovecot, mdbox", "server = \"dovecot\"\nstore = \"mdbox\"\n"),
    Servers {
        key: "cyrus",
        title: "Cyrus IMAP",
        lines: "server = \"cyrus\"\n",
        has_relay: false,
        is_dovecot: false,
    },
    relay(
        "postfix-sdbox",
        "Postfix before Dovecot, sdbox",
        "server = \"postfix\"\nstore = \"sdbox\"\n",
    ),
    relay(
        "postfix-maildir",
        "Postfix before Dovecot, maildir",
        "server = \"postfix\"\nstore = \"maildir\"\n",
    ),
    relay("exim-sdbox", "Exim before Dovecot, sdbox", "server = \"exim\"\nstore = \"sdbox\"\n"),
];

const fn dovecot(key: &'static str, title: &'static str, lines: &'static str) -> Servers {
    Servers { key, title, lines, has_relay: false, is_dovecot: true }
}

const fn relay(key: &'static str, title: &'static str, lines: &'static str) -> Servers {
    Servers { key, title, lines, has_relay: true, is_dovecot: true }
}

const FAULTS: [Fault; 12] = [
    Fault { lines: "kill = false\n", ..fault("nothing", "none", "") },
    Fault {
        deliveries: 600,
        times: 5,
        ..fault("power-cut", "power cut", "what = \"power cut\"\n")
    },
    Fault {
        deliveries: 600,
        times: 5,
        lines: "mail_fsync = \"never\"\n",
        needs_dovecot: true,
        ..fault("power-cut-never", "power cut, never synced", "what = \"power cut\"\n")
    },
    Fault {
        deliveries: 600,
        times: 20,
        needs_relay: true,
        ..fault(
            "power-cut-queue",
            "power cut of the queue alone",
            "what = \"power cut\"\nserver = \"relay\"\n",
        )
    },
    fault("kill", "each killed", ""),
    fault("kill-lmtp", "deliveries killed", "what = \"kill\"\nservice = \"lmtp\"\n"),
    fault(
        "freeze",
        "deliveries stand still for 3 s",
        "what = \"freeze\"\nservice = \"lmtp\"\nlasts = \"3s\"\n",
    ),
    fault("restart", "store restarted", "what = \"restart\"\nserver = \"store\"\n"),
    Fault {
        needs_relay: true,
        ..fault(
            "connections-cut",
            "connections to the store cut",
            "what = \"connections cut\"\nhop = \"delivery\"\n",
        )
    },
    Fault {
        needs_relay: true,
        ..fault(
            "half-open",
            "half-open for 2 s",
            "what = \"connections half-open\"\nhop = \"delivery\"\nlasts = \"2s\"\n",
        )
    },
    fault(
        "disk-full",
        "disk of the store full for 2 s",
        "what = \"disk full\"\nserver = \"store\"\nlasts = \"2s\"\n",
    ),
    Fault {
        needs_dovecot: true,
        ..fault("quota-full", "mailboxes full for 2 s", "what = \"quota full\"\nlasts = \"2s\"\n")
    },
];

const fn fault(key: &'static str, title: &'static str, events: &'static str) -> Fault {
    Fault {
        key,
        title,
        lines: "",
        events,
        deliveries: 2_000,
        needs_relay: false,
        needs_dovecot: false,
        times: 1,
    }
}

/// How often the servers lose their power that every release is held to.
const CUTS: u32 = 20;

/// Every cell, by servers and then by fault.
pub(crate) fn all() -> Vec<Cell> {
    let cells = SERVERS
        .iter()
        .flat_map(|servers| FAULTS.iter().map(|fault| Cell { servers: *servers, fault: *fault }));
    cells.filter(Cell::is_possible).map(Cell::with_times).collect()
}

impl Cell {
    fn is_possible(&self) -> bool {
        let Self { servers, fault } = self;
        (servers.has_relay || !fault.needs_relay) && (servers.is_dovecot || !fault.needs_dovecot)
    }

    fn with_times(mut self) -> Self {
        if self.servers.key == "dovecot-sdbox" && self.fault.key.starts_with("power-cut") {
            self.fault.times = CUTS;
        }
        if self.fault.key == "power-cut-queue" && self.servers.key != "postfix-sdbox" {
            self.fault.times = 5;
        }
        self
    }

    /// Its name, which is that of its file.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.servers.key, self.fault.key)
    }

    /// What `brunt load` is given.
    pub(crate) fn scenario(&self) -> String {
        let Self { servers, fault } = self;
        let event = match fault.events {
            "" => String::new(),
            events => format!("\n[[event]]\n{events}"),
        };
        format!(
            "[mail]\nusers = 20\ndeliveries = {}\nlimit = \"1min\"\n{}{}{event}",
            fault.deliveries, servers.lines, fault.lines
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_scenario::Document;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_cell_is_a_scenario_with_a_name_of_its_own() {
        let cells = all();
        let names: BTreeSet<String> = cells.iter().map(Cell::name).collect();
        assert_eq!(names.len(), cells.len());
        for cell in cells {
            let document = Document::new("t.toml", &cell.scenario(), Path::new("/")).unwrap();
            let read = document.mail(&[]);
            let scenario = read.unwrap_or_else(|error| panic!("{}: {error}", cell.name()));
            let is_disturbed = !scenario.events.is_empty() || scenario.kills();
            assert_eq!(is_disturbed, cell.fault.key != "nothing", "{}", cell.name());
        }
    }
}
