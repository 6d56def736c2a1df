//! Everything that does not depend on drives: databases and their copies, who carries them after
//! failures, capacity, logs, restore, processor, memory, transport, replication.

use brunt_scenario::Organisation;
use brunt_workload::profile::{Certainty, Figure, Version};

use crate::sheet::{Sheet, ceil, figure, max, min};
use crate::users::number;

const PAGE_FILE_MAX: Figure<f64> = Figure {
    value: 32_778.0 * 1_048_576.0,
    certainty: Certainty::Found,
    source: "EXDOC: 32,778 MB from 2013 on",
};

/// The figures of all mailboxes together, from those of each tier.
pub(crate) fn totals(org: &Organisation, tiers: &[(String, Sheet)], sheet: &mut Sheet) {
    let sum = |of: &[&str]| -> f64 {
        let tier = |tier: &Sheet| of.iter().map(|name| tier.get(name)).product::<f64>();
        tiers.iter().map(|(_, sheet)| tier(sheet)).sum()
    };
    sheet.write("servers", number(org.servers.value));
    sheet.write("copies", number(org.copies.value));
    sheet.write("failures", number(org.failures.value));
    sheet.calculate("mailboxes", sum(&["count"]), "sum over tiers of count", &[]);
    sheet.calculate(
        "messages_all",
        sum(&["count", "messages_per_day"]),
        "sum over tiers of count * messages_per_day",
        &[],
    );
    sheet.calculate(
        "mail_bytes_all",
        sum(&["count", "mail_bytes_per_day"]),
        "sum over tiers of count * mail_bytes_per_day",
        &[],
    );
    sheet.calculate(
        "io_all",
        sum(&["count", "io_per_mailbox"]),
        "sum over tiers of count * io_per_mailbox",
        &[],
    );
    sheet.calculate(
        "logs_per_day",
        sum(&["count", "logs_per_mailbox"]),
        "sum over tiers of count * logs_per_mailbox",
        &[],
    );
    sheet.calculate(
        "content_bytes",
        sum(&["count", "mailbox_bytes"]),
        "sum over tiers of count * mailbox_bytes",
        &[],
    );
}

/// How many databases there are, and where their copies are.
pub(crate) fn databases(org: &Organisation, sheet: &mut Sheet) {
    figure!(sheet, data_bytes = content_bytes * (1.0 + growth_percent / 100.0) * (1.0 + overhead_percent / 100.0);
        content_bytes, growth_percent, overhead_percent);
    figure!(sheet, restore_all_s = data_bytes / restore_bytes_per_s + logs_per_day * backup_days * replay_s_per_log;
        data_bytes, restore_bytes_per_s, logs_per_day, backup_days, replay_s_per_log);
    figure!(sheet, databases_for_size = max(1.0, ceil(data_bytes / database_bytes_max)); data_bytes, database_bytes_max);
    if let Some(objective) = &org.restore_within {
        sheet.write("restore_within_s", objective.value.as_seconds());
        figure!(sheet, databases_for_restore = ceil(restore_all_s / restore_within_s); restore_all_s, restore_within_s);
    }
    match (&org.databases, &org.restore_within) {
        (Some(databases), _) => sheet.write("databases", number(databases.value)),
        (None, None) => {
            figure!(sheet, databases = ceil(databases_for_size / servers) * servers; databases_for_size, servers);
        }
        (None, Some(_)) => {
            figure!(sheet, databases = ceil(max(databases_for_size, databases_for_restore) / servers) * servers;
                databases_for_size, databases_for_restore, servers);
        }
    }
    figure!(sheet, database_bytes = data_bytes / databases; data_bytes, databases);
    figure!(sheet, mailboxes_per_database = mailboxes / databases; mailboxes, databases);
    figure!(sheet, copies_all = databases * copies; databases, copies);
    figure!(sheet, copies_per_server = ceil(copies_all / servers); copies_all, servers);
    figure!(sheet, active_per_server = ceil(databases / servers); databases, servers);
    figure!(sheet, servers_left = servers - failures; servers, failures);
    figure!(sheet, copies_left = max(0.0, copies - failures); copies, failures);
    if org.copies.value > 1 {
        // A copy can be active only where it is.
        figure!(sheet, active_after_failures = min(copies_per_server, ceil(databases / servers_left));
            copies_per_server, databases, servers_left);
    } else {
        sharers(org, sheet);
    }
    figure!(sheet, mailboxes_after_failures = mailboxes_per_database * active_after_failures;
        mailboxes_per_database, active_after_failures);
}

/// Without further copies, only servers that share the array of a failed one can take its databases
/// over. At worst all failures are of the array with the fewest servers: the last one, which has
/// what is left over.
fn sharers(org: &Organisation, sheet: &mut Sheet) {
    let (servers, each) = (org.servers.value, org.storage.servers.value);
    let fewest = match servers.checked_rem(each) {
        Some(left) if left > 0 => left,
        _ => each,
    };
    // Who reaches folders is not known.
    if !org.storage.luns.is_empty() {
        figure!(sheet, active_after_failures = ceil(databases / servers_left); databases, servers_left);
        return;
    }
    sheet.write("array_servers_min", number(fewest));
    if fewest > org.failures.value {
        figure!(sheet, active_after_failures = ceil(active_per_server * array_servers_min / (array_servers_min - failures));
            active_per_server, array_servers_min, failures);
    } else {
        // Nobody can, which is a finding.
        figure!(sheet, active_after_failures = ceil(databases / servers_left); databases, servers_left);
    }
}

/// I/O, capacity and logs.
pub(crate) fn storage(sheet: &mut Sheet) {
    figure!(sheet, io_per_database = io_all * (1.0 + headroom_percent / 100.0) / databases;
        io_all, headroom_percent, databases);
    figure!(sheet, io_per_server = io_per_database * copies_per_server; io_per_database, copies_per_server);
    figure!(sheet, log_io_per_database = io_per_database * log_io_percent / 100.0; io_per_database, log_io_percent);
    figure!(sheet, maintenance_per_server = maintenance_bytes_per_s * copies_per_server;
        maintenance_bytes_per_s, copies_per_server);
    figure!(sheet, move_logs_per_day = content_bytes * moves_percent / 100.0 / 7.0 / log_bytes;
        content_bytes, moves_percent, log_bytes);
    figure!(sheet, log_space_bytes = (logs_per_day + move_logs_per_day) * log_days * log_bytes / databases;
        logs_per_day, move_logs_per_day, log_days, log_bytes, databases);
    figure!(sheet, index_bytes = database_bytes * (index_percent + merge_index_percent) / 100.0;
        database_bytes, index_percent, merge_index_percent);
    figure!(sheet, database_volume_bytes = (database_bytes + index_bytes) / (1.0 - free_percent / 100.0);
        database_bytes, index_bytes, free_percent);
    figure!(sheet, log_volume_bytes = max(log_volume_bytes_min, log_space_bytes / (1.0 - free_percent / 100.0));
        log_volume_bytes_min, log_space_bytes, free_percent);
    figure!(sheet, restore_volume_bytes = (database_bytes + log_space_bytes) / (1.0 - free_percent / 100.0);
        database_bytes, log_space_bytes, free_percent);
    figure!(sheet, restore_s = restore_all_s / databases; restore_all_s, databases);
}

/// Processor and memory of a server after the failures, transport, replication.
pub(crate) fn servers(org: &Organisation, sheet: &mut Sheet) {
    processor(sheet);
    figure!(sheet, memory_bytes = memory_base_bytes + (mailboxes * memory_bytes_per_mailbox + messages_all * memory_bytes_per_message) * active_after_failures / databases;
        memory_base_bytes, mailboxes, memory_bytes_per_mailbox, messages_all, memory_bytes_per_message, active_after_failures, databases);
    sheet.give("server_memory_bytes");
    if org.version >= Version::Exchange2013 {
        sheet.know("page_file_bytes_max", PAGE_FILE_MAX);
        figure!(sheet, page_file_bytes = min(memory_bytes + 10_485_760.0, page_file_bytes_max); memory_bytes, page_file_bytes_max);
    } else {
        figure!(sheet, page_file_bytes = memory_bytes + 10_485_760.0; memory_bytes);
    }
    figure!(sheet, queue_bytes = mail_bytes_all * (1.0 + queued_percent / 100.0 * queue_days + safety_days) * queue_copies;
        mail_bytes_all, queued_percent, queue_days, safety_days, queue_copies);
    figure!(sheet, queue_per_server_bytes = queue_bytes / servers_left; queue_bytes, servers_left);
    figure!(sheet, replication_bytes_per_s = logs_per_day * peak_hour_percent / 100.0 * log_bytes * (copies - 1.0) / 3600.0;
        logs_per_day, peak_hour_percent, log_bytes, copies);
}

/// The processor; nothing where its figures are known neither of the version nor from the user.
fn processor(sheet: &mut Sheet) {
    if sheet.give("megacycles_per_mailbox").is_some() {
        figure!(sheet, active_megacycles = mailboxes * megacycles_per_mailbox * active_after_failures / databases;
            mailboxes, megacycles_per_mailbox, active_after_failures, databases);
    } else if sheet.find("active_megacycles_per_message").is_some() {
        figure!(sheet, active_megacycles = messages_all * active_megacycles_per_message * (1.0 + copy_megacycles_percent / 100.0 * (copies - 1.0)) * active_after_failures / databases;
            messages_all, active_megacycles_per_message, copy_megacycles_percent, copies, active_after_failures, databases);
    } else {
        return;
    }
    if sheet.find("passive_megacycles_per_message").is_some() {
        figure!(sheet, passive_megacycles = messages_all * passive_megacycles_per_message * max(0.0, copies_per_server - active_after_failures) / databases;
            messages_all, passive_megacycles_per_message, copies_per_server, active_after_failures, databases);
    } else {
        sheet.write("passive_megacycles", 0.0);
    }
    figure!(sheet, cores = ceil((active_megacycles + passive_megacycles) / (megacycles_per_core * processor_percent_max / 100.0));
        active_megacycles, passive_megacycles, megacycles_per_core, processor_percent_max);
    figure!(sheet, directory_cores = ceil(cores / 8.0); cores);
    if sheet.give("server_cores").is_some() {
        figure!(sheet, processor_percent = (active_megacycles + passive_megacycles) / (server_cores * megacycles_per_core) * 100.0;
            active_megacycles, passive_megacycles, server_cores, megacycles_per_core);
    }
}
