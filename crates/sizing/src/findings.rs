//! What a size has to keep to, and does not always: sizes and numbers of databases, copies,
//! restore, processor, memory, room.

use brunt_scenario::Organisation;
use brunt_units::{ByteSize, Span, counted, grouped};

use crate::sheet::{Sheet, whole};
use crate::users::number;

/// Whether the organisation keeps to a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its id, as in JSON.
    pub id: &'static str,
    /// What is limited.
    pub label: &'static str,
    /// What it comes to.
    pub value: String,
    /// What it may come to.
    pub limit: String,
    /// Whether it does.
    pub holds: bool,
    /// What to do where it does not; empty where it does.
    pub remedy: &'static str,
}

/// Every limit that is known.
pub(crate) fn findings(org: &Organisation, sheet: &Sheet) -> Vec<Finding> {
    let mut findings = vec![
        most(
            sheet,
            ("database-size", "size of a database"),
            ("database_bytes", "database_bytes_max"),
            size,
            "more `databases`, or more `copies`, which allow larger ones",
        ),
        most(
            sheet,
            ("databases-on-server", "databases on a server"),
            ("copies_per_server", "databases_max"),
            |number| whole(number).to_string(),
            "more `servers`, or larger databases",
        ),
    ];
    findings.push(survives(org, sheet));
    if sheet.find("restore_within_s").is_some() {
        findings.push(most(
            sheet,
            ("restore-time", "restore of a database"),
            ("restore_s", "restore_within_s"),
            time,
            "more `databases`, a faster restore (`restore_bytes_per_s`), or more backups (`backup_days`)",
        ));
    }
    if sheet.find("processor_percent").is_some() {
        findings.push(most(
            sheet,
            ("processor", "processor after failures"),
            ("processor_percent", "processor_percent_max"),
            |percent| format!("{percent:.0} %"),
            "more cores, or more `servers`",
        ));
    }
    if sheet.find("server_memory_bytes").is_some() {
        findings.push(most(
            sheet,
            ("memory", "memory after failures"),
            ("memory_bytes", "server_memory_bytes"),
            size,
            "more memory, or more `servers`",
        ));
    }
    findings.extend(supported(sheet));
    if sheet.find("databases_per_group").is_some() {
        findings.push(most(
            sheet,
            ("database-in-group", "database and logs in a group"),
            ("volume_bytes", "group_bytes"),
            size,
            "more `databases`, larger groups (`group_drives`), or larger drives",
        ));
        findings.push(most(
            sheet,
            ("io-in-group", "I/O of a database to its group"),
            ("database_drive_io", "group_drive_io"),
            |rate| format!("{} /s", grouped(whole(rate.round()))),
            "more `databases`, larger groups (`group_drives`), or faster drives",
        ));
    }
    if sheet.find("log_group_bytes").is_some() {
        findings.push(most(
            sheet,
            ("logs-in-group", "logs of a database in a group"),
            ("log_volume_bytes", "log_group_bytes"),
            size,
            "more `databases`, larger groups (`log_drives`), or larger drives",
        ));
        findings.push(most(
            sheet,
            ("log-io-in-group", "I/O of a log to its group"),
            ("log_drive_io_each", "log_group_drive_io"),
            |rate| format!("{} /s", grouped(whole(rate.round()))),
            "more `databases`, larger groups (`log_drives`), or faster drives",
        ));
    }
    findings
}

/// What the version supports in one server: of what each needs, or of what the user says that each
/// has.
fn supported(sheet: &Sheet) -> Vec<Finding> {
    let one_of = |given, needed| match sheet.find(given) {
        Some(_) => Some(given),
        None => sheet.find(needed).map(|_| needed),
    };
    let mut findings = Vec::new();
    let cores = one_of("server_cores", "cores");
    if let Some(cores) = cores.filter(|_| sheet.find("cores_max").is_some()) {
        findings.push(most(
            sheet,
            ("cores-supported", "cores that a server may have"),
            (cores, "cores_max"),
            |number| whole(number).to_string(),
            "more `servers`, each with fewer cores",
        ));
    }
    if sheet.find("memory_bytes_max").is_some() {
        let memory = one_of("server_memory_bytes", "memory_bytes");
        findings.push(most(
            sheet,
            ("memory-supported", "memory that a server may have"),
            (memory.expect("it is always calculated"), "memory_bytes_max"),
            size,
            "more `servers`, each with less memory",
        ));
    }
    if sheet.find("server_memory_bytes").is_some() && sheet.find("memory_bytes_min").is_some() {
        let [has, least] = ["server_memory_bytes", "memory_bytes_min"].map(|name| sheet.get(name));
        let holds = has >= least;
        findings.push(Finding {
            id: "memory-least",
            label: "least memory of a server",
            value: size(has),
            limit: format!("at least {}", size(least)),
            holds,
            remedy: if holds { "" } else { "more memory in each server" },
        });
    }
    findings
}

fn most(
    sheet: &Sheet,
    (id, label): (&'static str, &'static str),
    (value, limit): (&str, &str),
    words: fn(f64) -> String,
    remedy: &'static str,
) -> Finding {
    let (value, limit) = (sheet.get(value), sheet.get(limit));
    // Rounding of floating point is no excess.
    let holds = value <= limit * (1.0 + 1e-9);
    Finding {
        id,
        label,
        value: words(value),
        limit: words(limit),
        holds,
        remedy: if holds { "" } else { remedy },
    }
}

/// With copies, as many servers may fail as there are further copies. Without, a server that shares
/// the storage has to be left.
fn survives(org: &Organisation, sheet: &Sheet) -> Finding {
    let (copies, failures) = (org.copies.value, org.failures.value);
    let sharers = sheet.find("array_servers_min");
    let is_reached = sharers.is_none_or(|sharers| number(failures) < sharers);
    let (value, limit, holds, remedy) = match copies {
        1 => (
            "1".to_owned(),
            "1, on storage that other servers reach".to_owned(),
            failures == 0 || is_reached,
            "more `copies`, or an array that more servers share than fail (`servers` of [storage])",
        ),
        copies => (
            sheet.count("copies_left").to_string(),
            "at least 1".to_owned(),
            failures < copies,
            "more `copies` than `failures`",
        ),
    };
    Finding {
        id: "copies-left",
        label: match failures {
            0 => "copies of a database",
            _ => "copies after failures, at worst",
        },
        value,
        limit,
        holds,
        remedy: if holds { "" } else { remedy },
    }
}

/// Bytes for people.
pub(crate) fn size(bytes: f64) -> String {
    ByteSize::bytes(whole(bytes.round())).to_string()
}

/// Seconds for people.
pub(crate) fn time(seconds: f64) -> String {
    if seconds < 1.0 {
        return format!("{seconds:.3} s");
    }
    if seconds > 30.0 * 86_400.0 {
        return counted(whole((seconds / 86_400.0).round()), "day");
    }
    let rounded = match seconds {
        long if long >= 3600.0 => (long / 60.0).round() * 60.0,
        short => short.round(),
    };
    Span::from_seconds(rounded).to_string()
}
