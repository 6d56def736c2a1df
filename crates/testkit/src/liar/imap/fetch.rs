//! Commands about messages of the selected folder.

use super::super::lies::{Lie, number_of};
use super::super::store::{Folder, Stored};
use super::parse::{Command, Token, is_in};
use super::{Selected, Session};

impl Selected {
    /// Indices into the view, and UIDs, of the messages that `set` names.
    fn chosen(&self, set: &str, is_uid: bool) -> Vec<(usize, u32)> {
        let numbered = self.view.iter().copied().enumerate();
        let last = match is_uid {
            true => self.view.last().copied().unwrap_or(0),
            false => u32::try_from(self.view.len()).unwrap_or(u32::MAX),
        };
        let is = |(index, uid): &(usize, u32)| {
            let number = if is_uid { Some(*uid) } else { u32::try_from(index + 1).ok() };
            number.is_some_and(|number| is_in(set, number, last))
        };
        numbered.filter(is).collect()
    }
}

impl Session<'_> {
    pub(super) fn fetch(&mut self, command: &Command) -> String {
        let (Some(selected), Some(account)) = (&self.selected, self.account) else {
            return "BAD no folder".to_owned();
        };
        let items = command.tokens.iter().skip(1).filter_map(|token| match token {
            Token::Word(word) => Some(word.to_ascii_uppercase()),
            _ => None,
        });
        let mut items: Vec<_> = items.collect();
        if command.is_uid && !items.iter().any(|item| item == "UID") {
            items.insert(0, "UID".to_owned());
        }
        let chosen = selected.chosen(command.word(0).unwrap_or_default(), command.is_uid);
        let mut state = self.inner.state.borrow_mut();
        let mailbox = state.store.mailbox(account, selected.folder);
        for (index, uid) in chosen {
            let Some(message) = mailbox.find(uid) else { continue };
            if !selected.is_read_only && items.iter().any(|item| item.starts_with("BODY[")) {
                add_flags(message, &["\\Seen".to_owned()]);
            }
            let date = self.inner.date(message.arrived);
            self.replies.extend_from_slice(format!("* {} FETCH (", index + 1).as_bytes());
            let mut separator: &[u8] = b"";
            for item in &items {
                let Some(value) = value(item, message, &date) else { continue };
                self.replies.extend_from_slice(separator);
                self.replies.extend_from_slice(&value);
                separator = b" ";
            }
            self.replies.extend_from_slice(b")\r\n");
        }
        "OK fetched".to_owned()
    }

    pub(super) fn store(&mut self, command: &Command) -> String {
        let (Some(selected), Some(account)) = (&self.selected, self.account) else {
            return "BAD no folder".to_owned();
        };
        let chosen = selected.chosen(command.word(0).unwrap_or_default(), command.is_uid);
        let action = command.word(1).unwrap_or_default().to_ascii_uppercase();
        let flags = command.flags();
        let mut lines = Vec::new();
        let mut state = self.inner.state.borrow_mut();
        let state = &mut *state;
        for (index, uid) in chosen {
            let mailbox = state.store.mailbox(account, selected.folder);
            mailbox.modseq += 1;
            let modseq = mailbox.modseq;
            let Some(message) = mailbox.find(uid) else { continue };
            let before = message.flags.clone();
            match action.trim_end_matches(".SILENT") {
                "+FLAGS" => add_flags(message, &flags),
                "-FLAGS" => message.flags.retain(|flag| !flags.contains(flag)),
                _ => message.flags.clone_from(&flags),
            }
            message.modseq = modseq;
            if !action.ends_with(".SILENT") {
                let flags = message.flags.join(" ");
                lines.push(format!("* {} FETCH (UID {uid} FLAGS ({flags}))", index + 1));
            }
            let number = number_of(&message.bytes);
            if state.lies.choose(number, account, |lie| lie == Lie::ForgetFlag).is_some() {
                message.flags = before;
            }
        }
        lines.iter().for_each(|line| self.say(line));
        "OK stored".to_owned()
    }

    pub(super) fn copy(&mut self, command: &Command) -> String {
        let (Some(selected), Some(account)) = (&self.selected, self.account) else {
            return "BAD no folder".to_owned();
        };
        let Some(to) = command.text(1).and_then(Folder::named) else {
            return "NO [TRYCREATE] no such folder".to_owned();
        };
        let chosen = selected.chosen(command.word(0).unwrap_or_default(), command.is_uid);
        let mut state = self.inner.state.borrow_mut();
        let mut pairs = [Vec::new(), Vec::new()];
        for (_, uid) in chosen {
            let from = state.store.mailbox(account, selected.folder);
            let Some(message) = from.find(uid).cloned() else { continue };
            if command.name == "MOVE" {
                from.messages.retain(|message| message.uid != uid);
                from.modseq += 1;
            }
            let target = state.store.mailbox(account, to);
            let new = target.add(message.arrived, message.flags, message.bytes);
            pairs[0].push(uid.to_string());
            pairs[1].push(new.to_string());
        }
        let validity = state.store.mailbox(account, to).uidvalidity;
        drop(state);
        let code = format!("[COPYUID {validity} {} {}]", pairs[0].join(","), pairs[1].join(","));
        match (pairs[0].is_empty(), command.name.as_str()) {
            (true, _) => "OK nothing to do".to_owned(),
            (false, "MOVE") => {
                self.say(&format!("* OK {code} moved"));
                "OK moved".to_owned()
            }
            (false, _) => format!("OK {code} copied"),
        }
    }

    /// Removes what is flagged as deleted, of the UIDs in `among` only if given.
    pub(super) fn expunge(&mut self, among: Option<&str>) {
        let (Some(selected), Some(account)) = (&self.selected, self.account) else { return };
        if selected.is_read_only {
            return;
        }
        let mut state = self.inner.state.borrow_mut();
        let state = &mut *state;
        let mailbox = state.store.mailbox(account, selected.folder);
        let last = selected.view.last().copied().unwrap_or(0);
        let mut returning = Vec::new();
        mailbox.messages.retain(|message| {
            let is_deleted = message.flags.iter().any(|flag| flag == "\\Deleted");
            let is_chosen = among.is_none_or(|set| is_in(set, message.uid, last));
            let is_gone = is_deleted && is_chosen && selected.view.contains(&message.uid);
            let number = number_of(&message.bytes);
            if is_gone && state.lies.choose(number, account, |lie| lie == Lie::Resurrect).is_some()
            {
                returning.push(message.clone());
            }
            !is_gone
        });
        mailbox.modseq += 1;
        for message in returning {
            mailbox.add(message.arrived, Vec::new(), message.bytes);
        }
    }
}

fn add_flags(message: &mut Stored, flags: &[String]) {
    for flag in flags {
        if !message.flags.contains(flag) {
            message.flags.push(flag.clone());
        }
    }
}

/// One item of FETCH and its value; `None` for those that the liar does not know.
fn value(item: &str, message: &Stored, date: &str) -> Option<Vec<u8>> {
    Some(match item {
        "UID" => format!("UID {}", message.uid).into_bytes(),
        "FLAGS" => format!("FLAGS ({})", message.flags.join(" ")).into_bytes(),
        "RFC822.SIZE" => format!("RFC822.SIZE {}", message.bytes.len()).into_bytes(),
        "MODSEQ" => format!("MODSEQ ({})", message.modseq).into_bytes(),
        "INTERNALDATE" => format!("INTERNALDATE \"{}\"", internal(date)).into_bytes(),
        "RFC822" => literal("RFC822", &message.bytes),
        _ => return section(item, &message.bytes),
    })
}

/// `BODY[...]`, whole or a part of it.
fn section(item: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let rest = item.strip_prefix("BODY.PEEK[").or_else(|| item.strip_prefix("BODY["))?;
    let (name, partial) = rest.rsplit_once(']')?;
    let header = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let header = header.map_or(bytes.len(), |at| at + 4);
    let content = match name {
        "" => bytes.to_vec(),
        "HEADER" => bytes[..header].to_vec(),
        "TEXT" => bytes[header..].to_vec(),
        _ => fields(name.strip_prefix("HEADER.FIELDS ")?, &bytes[..header]),
    };
    match partial.strip_prefix('<').and_then(|range| range.strip_suffix('>')) {
        None => Some(literal(&format!("BODY[{name}]"), &content)),
        Some(range) => {
            let (from, count) = range.split_once('.')?;
            let (from, count): (usize, usize) = (from.parse().ok()?, count.parse().ok()?);
            let begin = from.min(content.len());
            let end = begin.saturating_add(count).min(content.len());
            Some(literal(&format!("BODY[{name}]<{from}>"), &content[begin..end]))
        }
    }
}

/// The headers that are named, with their continuations.
fn fields(names: &str, header: &[u8]) -> Vec<u8> {
    let names: Vec<_> = names.trim_matches(['(', ')']).split(' ').collect();
    let mut chosen = Vec::new();
    let mut is_chosen = false;
    for line in header.split_inclusive(|byte| *byte == b'\n') {
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
            is_chosen = names.iter().any(|wanted| name.eq_ignore_ascii_case(wanted.as_bytes()));
        }
        if is_chosen {
            chosen.extend_from_slice(line);
        }
    }
    chosen.extend_from_slice(b"\r\n");
    chosen
}

fn literal(name: &str, content: &[u8]) -> Vec<u8> {
    [format!("{name} {{{}}}\r\n", content.len()).as_bytes(), content].concat()
}

/// `27-Nov-2026 03:46:35 +0000` of a date of RFC 5322.
fn internal(date: &str) -> String {
    let mut parts = date.split(' ').skip(1);
    let mut next = || parts.next().unwrap_or_default();
    let (day, month, year, time, zone) = (next(), next(), next(), next(), next());
    format!("{day:>2}-{month}-{year} {time} {zone}")
}
