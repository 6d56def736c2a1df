//! Real servers, started for a few seconds each. Without Dovecot, or without root for Postfix, the
//! tests that need them are skipped by name.

mod client;
mod dovecot;
mod others;
mod outside;
mod power;
mod relayed;
mod unprivileged;

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use brunt_servers::{Format, Installed, MailFsync, MailSystem, Plan, Relay, Store};
use tempfile::TempDir;

/// A folder that the users of servers can enter.
fn folder() -> TempDir {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

fn plan(format: Format, relay: Option<Relay>) -> Plan {
    Plan { store: Store::Dovecot { format, fsync: MailFsync::Optimized }, relay, users: 3 }
}

fn started(home: &Path, plan: &Plan) -> MailSystem {
    let mut system = MailSystem::make(&home.join("servers"), plan).unwrap();
    system.start().unwrap();
    system
}

/// Whether Dovecot is here; else the test called `name` is skipped.
fn has_dovecot(name: &str) -> bool {
    Installed::dovecot().map_err(|error| skip(name, &error.to_string())).is_ok()
}

/// Whether Dovecot and Postfix can be started; else the test called `name` is skipped.
fn has_postfix(name: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    let found = Installed::postfix().map_err(|error| error.to_string());
    let found = found.and_then(|_| is_root.then_some(()).ok_or("Postfix needs root".to_owned()));
    has_dovecot(name) && found.map_err(|why| skip(name, &why)).is_ok()
}

fn skip(name: &str, why: &str) {
    eprintln!("skipped: {why}");
    if let Some(list) = std::env::var_os("BRUNT_SKIPPED") {
        let list = OpenOptions::new().create(true).append(true).open(list);
        writeln!(list.unwrap(), "{name}: {why}").unwrap();
    }
}

/// The processes whose command line or folder names `home`.
fn processes_of(home: &Path) -> Vec<String> {
    let home = home.to_string_lossy().into_owned();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut found = Vec::new();
    for entry in entries {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        if command.contains(&home) || folder.starts_with(&home) {
            found.push(format!("{pid} {command}"));
        }
    }
    found
}
