//! Incidents in words.

use brunt_mail::incident::{Deed, Incident, Machine, Part, Processes};
use brunt_servers::{Plan, Relay, Store};

/// The names of the servers, the store first.
type Names = [(Part, &'static str)];

/// What is to be done to servers of `plan`, as it will have been done.
pub fn planned(incidents: &[Incident], plan: &Plan) -> Vec<String> {
    let store = match plan.store {
        Store::Dovecot { .. } => "Dovecot",
        Store::Cyrus => "Cyrus",
    };
    let relay = plan.relay.map(|relay| match relay {
        Relay::Postfix => "Postfix",
        Relay::Exim => "Exim",
    });
    let names = [(Part::Store, store)].into_iter().chain(relay.map(|name| (Part::Relay, name)));
    let names: Vec<_> = names.collect();
    incidents.iter().map(|incident| done(incident.deed, &names)).collect()
}

/// What begins.
pub(super) fn begins(deed: Deed, names: &Names) -> String {
    let (whose, is_many) = whose(deed, names);
    match deed {
        Deed::Kill(Processes::All(_)) => format!("kill -9 of all processes of {whose}"),
        Deed::Kill(Processes::Of(_)) => format!("kill -9 of {whose}"),
        Deed::Freeze(_, span) => format!("{whose} stands still for {span}"),
        Deed::Restart(_) => format!("restart of {whose}"),
        Deed::PowerCut(_) if is_many => format!("power cut of the machine of {whose}"),
        Deed::PowerCut(_) => format!("power cut of {whose}"),
        Deed::Cut(_) => format!("{whose} break"),
        Deed::Slow(_, delay, span) => format!("{whose} take {delay} longer for {span}"),
        Deed::HalfOpen(_, span) => format!("{whose} carry nothing for {span}"),
        Deed::DiskFull(_, span) => format!("{whose} has no room for {span}"),
        Deed::QuotaFull(span) => format!("{whose} are full for {span}"),
    }
}

/// What was done, for a result.
pub(super) fn done(deed: Deed, names: &Names) -> String {
    let (whose, _) = whose(deed, names);
    match deed {
        Deed::Kill(_) => format!("{whose} killed"),
        Deed::Freeze(..) => format!("{whose} frozen"),
        Deed::Restart(_) => format!("{whose} restarted"),
        Deed::PowerCut(_) => format!("power of {whose} cut"),
        Deed::Cut(_) => format!("{whose} broken"),
        Deed::Slow(..) => format!("{whose} slow"),
        Deed::HalfOpen(..) => format!("{whose} half-open"),
        Deed::DiskFull(..) => format!("disk of {whose} full"),
        Deed::QuotaFull(_) => format!("{whose} full"),
    }
}

/// Whom it is done to, and whether they are several.
pub(super) fn whose(deed: Deed, names: &Names) -> (String, bool) {
    let name = |part: Part| {
        names.iter().find(|(of, _)| *of == part).map_or("the relay", |(_, name)| *name)
    };
    match deed {
        Deed::Kill(Processes::Of(service)) | Deed::Freeze(Processes::Of(service), _) => {
            (format!("{} of {}", service.name(), name(service.part())), false)
        }
        Deed::Kill(Processes::All(part))
        | Deed::Freeze(Processes::All(part), _)
        | Deed::Restart(part)
        | Deed::DiskFull(part, _)
        | Deed::PowerCut(Machine::Only(part)) => (name(part).to_owned(), false),
        Deed::PowerCut(Machine::Whole) => {
            let all: Vec<&str> = names.iter().rev().map(|(_, name)| *name).collect();
            (all.join(" and "), all.len() > 1)
        }
        Deed::Cut(hop) | Deed::Slow(hop, ..) | Deed::HalfOpen(hop, _) => {
            (format!("connections {hop}"), true)
        }
        Deed::QuotaFull(_) => (format!("mailboxes of {}", name(Part::Store)), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_mail::incident::{Hop, Service};
    use brunt_units::Span;

    const NAMES: [(Part, &str); 2] = [(Part::Store, "Dovecot"), (Part::Relay, "Postfix")];

    #[test]
    fn incidents_are_told_as_people_say_them() {
        let lmtp = Processes::Of(Service::Lmtp);
        let second = Span::seconds(1);
        for (deed, begun, was) in [
            (
                Deed::Kill(Processes::All(Part::Store)),
                "kill -9 of all processes of Dovecot",
                "Dovecot killed",
            ),
            (Deed::Kill(lmtp), "kill -9 of lmtp of Dovecot", "lmtp of Dovecot killed"),
            (
                Deed::Freeze(lmtp, second),
                "lmtp of Dovecot stands still for 1.0 s",
                "lmtp of Dovecot frozen",
            ),
            (
                Deed::PowerCut(Machine::Whole),
                "power cut of the machine of Postfix and Dovecot",
                "power of Postfix and Dovecot cut",
            ),
            (
                Deed::PowerCut(Machine::Only(Part::Relay)),
                "power cut of Postfix",
                "power of Postfix cut",
            ),
            (
                Deed::Cut(Hop::Delivery),
                "connections from the relay to the store break",
                "connections from the relay to the store broken",
            ),
            (
                Deed::DiskFull(Part::Store, second),
                "Dovecot has no room for 1.0 s",
                "disk of Dovecot full",
            ),
            (
                Deed::QuotaFull(second),
                "mailboxes of Dovecot are full for 1.0 s",
                "mailboxes of Dovecot full",
            ),
        ] {
            assert_eq!((begins(deed, &NAMES).as_str(), done(deed, &NAMES).as_str()), (begun, was));
        }
    }
}
