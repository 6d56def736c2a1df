//! What servers, storage, the machine and brunt used, and LoadSim's limits with what stands for each on
//! Linux.

use crate::decimals;
use crate::result::{Direction, Mail, MailUsage};
use crate::table::{Cell, Column, Row, Table};

/// What each server used; empty when it was not looked at.
pub(super) fn servers(mail: &Mail) -> Table {
    let numbers =
        ["Processors", "Memory, most (MiB)", "Processes, most", "Read (MiB/s)", "Written (MiB/s)"];
    let columns = Column::of(&["Server"], &numbers);
    let Some(usage) = &mail.usage else {
        return Table::new(columns, []);
    };
    let rows = usage.servers.iter().map(|one| {
        Row::new([
            Cell::from(one.server.as_str()),
            Cell::Fixed(one.processors, 2),
            Cell::Fixed(one.memory_mib_max, 1),
            one.processes_max.into(),
            Cell::Fixed(one.read_mib_per_s, 2),
            Cell::Fixed(one.written_mib_per_s, 2),
        ])
    });
    let brunt = usage.brunt_processors.map(|own| {
        let unknown = std::iter::repeat_n(Cell::Nothing, 4);
        Row::new(
            [Cell::from("brunt, its sessions"), Cell::Fixed(own, 2)].into_iter().chain(unknown),
        )
    });
    Table::new(columns, rows.chain(brunt)).titled("What was used").noted(&note(usage))
}

fn note(usage: &MailUsage) -> String {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let mut note = format!(
        "In {} s. All processes of a server count, also those that ended; memory that several share counts once.",
        decimals(usage.seconds)
    );
    if let Some(busy) = usage.machine_busy {
        note += &format!(
            " Of the machine's {} processors {} were busy.",
            usage.processors,
            percent(busy)
        );
    }
    if let Some(storage) = &usage.storage {
        let mean = |ms: Option<f64>| ms.map_or("-".to_owned(), decimals);
        note += &format!(
            " {}, under the servers' folder, was in use for {}: {} reads a second ({} ms), {} writes ({} ms){}, for all \
             programs.",
            storage.device,
            percent(storage.busy),
            decimals(storage.reads_per_s),
            mean(storage.read_ms),
            decimals(storage.writes_per_s),
            mean(storage.write_ms),
            storage
                .flushes_per_s
                .map_or(String::new(), |one| format!(", {} flushes", decimals(one))),
        );
    }
    if let Some(stalled) = usage.stalled_on_io {
        note += &format!(" Something waited for storage for {} of the time.", percent(stalled));
    }
    note
}

/// What stands for a counter of Windows.
enum Here {
    /// A figure of the run, when it was measured, and its limit.
    Measured(&'static str, fn(&Mail) -> Option<f64>, Direction, f64),
    /// A figure that says something else than the limit asks.
    Shown(&'static str, fn(&Mail) -> Option<f64>),
    /// Nothing, and why.
    NotApplicable(&'static str),
}

/// LoadSim's limits: counter, limit, and its counterpart.
/// Source: HP StorageWorks EVA and Continuous Access with Exchange 2003, 2005, table C-1 and text.
const LIMITS: [(&str, &str, Here); 17] = {
    use Direction::{AtLeast, AtMost};
    use Here::{Measured, NotApplicable, Shown};
    [
        (
            "% Processor Time, total",
            "< 80 %",
            Measured(
                "processors of the machine, busy (%)",
                |mail| Some(100.0 * mail.usage.as_ref()?.machine_busy?),
                AtMost,
                80.0,
            ),
        ),
        ("MSExchangeIS RPC Requests", "< 30", NotApplicable("a session asks one thing at a time")),
        (
            "RPC Averaged Latency",
            "< 50 ms on average",
            Measured("server alone, mean of the medians of tasks (ms)", median, AtMost, 50.0),
        ),
        (
            "VM Largest Block Size, Total Free Block Bytes",
            "> 500 MB",
            NotApplicable("the address space of 32-bit Windows"),
        ),
        ("VM Total 16MB Free Blocks", "> 1", NotApplicable("the same")),
        (
            "Available MBytes",
            "> 500 MB",
            Measured(
                "MemAvailable, least (MiB)",
                |mail| mail.usage.as_ref()?.memory_available_mib_min,
                AtLeast,
                500.0,
            ),
        ),
        (
            "Pool Nonpaged, Paged Bytes",
            "< 80, < 200 MB",
            NotApplicable("pools of the Windows kernel"),
        ),
        ("Free System PTEs", "never zero", NotApplicable("a table of the Windows kernel")),
        (
            "Disk queue",
            "each disk idle once a minute",
            Shown("the device in use, mean (%)", |mail| {
                Some(100.0 * mail.usage.as_ref()?.storage.as_ref()?.busy)
            }),
        ),
        (
            "Disk sec/Read",
            "< 20 ms on average",
            Measured(
                "read of the device, mean (ms)",
                |mail| mail.usage.as_ref()?.storage.as_ref()?.read_ms,
                AtMost,
                20.0,
            ),
        ),
        (
            "Disk sec/Write",
            "< 20 ms on average",
            Measured(
                "write of the device, mean (ms)",
                |mail| mail.usage.as_ref()?.storage.as_ref()?.write_ms,
                AtMost,
                20.0,
            ),
        ),
        (
            "SMTP local and remote queue",
            "< 1,000",
            Shown("messages in the relay's queue before the audit", |mail| {
                Some(mail.queue?.messages as f64)
            }),
        ),
        ("SMTP categorizer queue", "< 10", NotApplicable("nothing asks a directory of groups")),
        (
            "NDRs",
            "0",
            Measured(
                "accepted, then returned",
                |mail| Some(mail.ledger.bounced as f64),
                AtMost,
                0.0,
            ),
        ),
        (
            "LoadSim task queue",
            "< 100",
            Measured(
                "most tasks waiting",
                |mail| {
                    let work = mail.work.as_ref().filter(|work| !work.is_stress)?;
                    Some(work.waiting_max as f64)
                },
                AtMost,
                100.0,
            ),
        ),
        (
            "LoadSim task queue",
            "not growing",
            Shown("more tasks waiting at the end of the steady part", |mail| {
                mail.work.as_ref()?.queue_growth
            }),
        ),
        (
            "LoadSim action latency",
            "<= 1,000 ms",
            Measured("score (ms)", |mail| mail.work.as_ref()?.score_ms, AtMost, 1_000.0),
        ),
    ]
};

/// The mean of the tasks' medians, each as often as it was done.
fn median(mail: &Mail) -> Option<f64> {
    let tasks = &mail.work.as_ref()?.tasks;
    let timed = tasks.iter().filter_map(|task| Some((task.done as f64, task.service?.p50_ms)));
    let (done, sum) =
        timed.fold((0.0, 0.0), |(done, sum), (own, p50)| (done + own, sum + own * p50));
    (done > 0.0).then(|| sum / done)
}

/// LoadSim's limits; empty when mail was only sent.
pub(super) fn loadsim(mail: &Mail) -> Table {
    let columns = [
        Column::words("Counter"),
        Column::words("Limit"),
        Column::words("Here"),
        Column::numbers("Measured"),
        Column::words("Outcome"),
    ];
    let limits = LIMITS.iter().filter(|_| mail.work.is_some());
    let rows = limits.map(|(counter, limit, here)| {
        let (what, measured, outcome) = match here {
            Here::NotApplicable(why) => (format!("not applicable: {why}"), None, ""),
            Here::Shown(what, measure) => {
                let measured = measure(mail);
                ((*what).to_owned(), measured, measured.map_or("not measured", |_| "not judged"))
            }
            Here::Measured(what, measure, direction, limit) => {
                let measured = measure(mail);
                let holds = measured.map(|measured| match direction {
                    Direction::AtMost => measured <= *limit,
                    Direction::AtLeast => measured > *limit,
                });
                let outcome = holds.map_or("not measured", |holds| match holds {
                    true => "within",
                    false => "beyond",
                });
                ((*what).to_owned(), measured, outcome)
            }
        };
        let measured = measured.map_or(Cell::Nothing, |measured| decimals(measured).into());
        let class = if outcome == "beyond" { "failed" } else { "" };
        Row::classed(
            [Cell::from(*counter), (*limit).into(), what.into(), measured, outcome.into()],
            class,
        )
    });
    Table::new(columns, rows).titled("LoadSim's limits").noted(
        "For readers who know reports of LoadSim: its counters, their limits, and what stands for each on Linux. The rules below \
         judge; this table does not. Source: HP StorageWorks EVA and Continuous Access with Exchange 2003, 2005, table C-1.",
    )
}
