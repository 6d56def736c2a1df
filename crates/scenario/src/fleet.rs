//! `[fleet]`: one test on several hosts at once.
//!
//! ```toml
//! servers = ["MAIL1", "MAIL2"]
//! [fleet]
//! reach = ["ssh", "{host}"]            how a host is reached; [] for this machine
//! [fleet.MAIL1]
//! host = "a1"                          without it, the name of the server
//! set = ["instance.0.log=/mnt/b/log"]  what differs there
//! [test] [profile] [[instance]] ...    as for `brunt run`; `{server}` in a text is the server's name
//! ```
//!
//! Each server gets a scenario of its own, complete, as `brunt run` reads it. A file that has arrays
//! as well is predicted by `brunt simulate`; what describes modelled storage says nothing here.

use brunt_units::Span;

use super::document::{Document, Subject, is_of_storage};
use super::keys::{Maybe, SOME_TIME, SWITCH, TEXT, keys, list, own};
use super::mistakes::{Checked, Sink};
use super::model::Scenario;
use super::modelled::read_servers;
use super::overrides::Override;
use super::place::{Place, Placed, Refusal};
use super::section::{self, Section};
use super::sites::destination;
use super::tree::{Node, Value};

keys! {
    /// What `[fleet]` says of all hosts.
    pub(crate) struct Fleet; FLEET = "[fleet]";
    /// The command that reaches a host and passes stdin and stdout on; an empty list for this machine.
    reach: Vec<String> = vec!["ssh".to_owned(), HOST.to_owned()], list(read_words, "list of words, with `{host}`"), "`[\"ssh\", \"{host}\"]`";
    /// brunt on those hosts.
    program: String = "brunt".to_owned(), TEXT, "`\"brunt\"`";
    /// How long the first host that is ready waits for the last.
    wait: Span = Span::seconds(1_800), SOME_TIME, "`\"30min\"`";
    /// How far apart hosts may begin to collect.
    max_skew: Span = Span::millis(500), SOME_TIME, "`\"500ms\"`";
    /// Whether several servers may be on one machine, to try a scenario out.
    same_machine: bool = false, SWITCH, "`false`";
}

keys! {
    /// What `[fleet]` says of one host.
    pub(crate) struct Own; SERVER = "[fleet.SERVER]";
    /// The host, as the command of `reach` is given it.
    host: Option<String> = None, Maybe(own(destination, "host, or user@host")), "the server's name";
    /// Values that are different there, as `--set` takes them.
    set: Vec<String> = Vec::new(), list(read_sets, "list of `key=value`"), "`[]`";
}

/// Stands for the server's name in the texts of a scenario.
pub(super) const SERVER_NAME: &str = "{server}";
/// Stands for the host in `reach`.
const HOST: &str = "{host}";

/// A test on several hosts, with every default filled in.
#[derive(Clone, Debug)]
pub struct FleetScenario {
    pub name: String,
    /// At least one.
    pub servers: Vec<FleetServer>,
    reach: Vec<String>,
    /// brunt on those hosts.
    pub program: String,
    pub wait: Span,
    pub max_skew: Span,
    pub same_machine: bool,
}

/// One server of a fleet.
#[derive(Clone, Debug)]
pub struct FleetServer {
    pub name: String,
    pub host: String,
    /// Whether `set` replaces something there.
    pub is_special: bool,
    pub scenario: Scenario,
}

impl FleetScenario {
    /// The command that reaches `server`; `None` when it is on this machine.
    pub fn reach(&self, server: &FleetServer) -> Option<Vec<String>> {
        let words = self.reach.iter().map(|word| word.replace(HOST, &server.host));
        (!self.reach.is_empty()).then(|| words.collect())
    }
}

impl Document {
    /// The test on several hosts that it describes, with `overrides` in their order. No file is
    /// looked at.
    ///
    /// # Errors
    /// [`Refusal`] when it describes something else.
    pub fn check_fleet(&self, overrides: &[Override]) -> Result<Checked<FleetScenario>, Refusal> {
        let has_arrays = match self.subject() {
            Subject::Fleet => false,
            Subject::ModelledTest => true,
            _ => return Err(self.is_not(Subject::Fleet)),
        };
        let (mut root, mut mistakes) = self.overridden(overrides);
        let sink = Sink::of(&mut root);
        let mut own = Vec::new();
        if let Value::Table(entries) = &mut root.value {
            let is_own = |key: &str| key == "servers" || key == "fleet";
            own.extend(entries.extract_if(.., |(key, _)| is_own(key)));
            entries.retain(|(key, _)| !(has_arrays && is_of_storage(key)));
        }
        let own = Node { value: Value::Table(own), ..root.clone() };
        let mut own = Section::new(own, "the scenario", &["servers", "fleet"]);
        let names = own.read("servers", read_servers);
        if names.is_none() && !own.was_refused("servers") {
            own.refuse(own.lacks("servers", "servers = [\"MAIL1\", \"MAIL2\"]"));
        }
        let names = names.unwrap_or_else(|| Placed::unwritten(vec!["MAIL1".to_owned()]));
        let (fleet, hosts) = read_hosts(&mut own, &names);
        if !fleet.reach.is_empty() {
            sink.catch(absolute(&root));
        }
        mistakes.extend(sink.take());
        let mut servers = Vec::new();
        for (name, (host, sets)) in names.value.iter().zip(hosts) {
            let mut root = root.clone();
            replace(&mut root, name);
            let refused = sets.iter().filter_map(|set| set.apply(&mut root).err());
            mistakes.extend(refused);
            let Checked { mistakes: more, value: scenario } = self.look_at_host(root, has_arrays);
            // What is wrong for all is said once.
            let new: Vec<Refusal> =
                more.into_iter().filter(|one| !mistakes.contains(one)).collect();
            mistakes.extend(new);
            mistakes.extend(not_a_load(&scenario, &names.place));
            let is_special = !sets.is_empty();
            servers.push(FleetServer { name: name.clone(), host, is_special, scenario });
        }
        mistakes.dedup();
        let Fleet { reach, program, wait, max_skew, same_machine } = fleet;
        let name = servers[0].scenario.name.clone();
        let value = FleetScenario { name, servers, reach, program, wait, max_skew, same_machine };
        Ok(Checked { mistakes, value })
    }
}

/// Only a collection can begin at one instant.
fn not_a_load(scenario: &Scenario, place: &Place) -> Option<Refusal> {
    let kind = scenario.test.kind;
    let refusal = || place.refuse(format!("a {kind} test does not begin at one instant"));
    (!kind.has_limits())
        .then(|| refusal().hint("hosts are tested together by a performance or stress test"))
}

/// What is said of all hosts, and each server's host and what differs there.
fn read_hosts(
    own: &mut Section,
    names: &Placed<Vec<String>>,
) -> (Fleet, Vec<(String, Vec<Override>)>) {
    let mut fleet = Fleet::default();
    let known: Vec<&str> = names.value.iter().map(String::as_str).collect();
    let mut section = FLEET.read_beside(own.table("fleet"), &known, &mut fleet);
    let servers = names.value.iter().map(|name| {
        let mut own = Own::default();
        if let Some(node) = section.take(name) {
            SERVER.read(node, &mut own);
        }
        let is_host =
            |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if own.host.is_none() && !fleet.reach.is_empty() && !is_host(name) {
            let refusal = names.place.refuse(format!("\"{name}\" is no host"));
            section.refuse(refusal.hint(format!("name it: [fleet.\"{name}\"] with host = \"a1\"")));
        }
        let sets = own.set.iter();
        let sets =
            sets.filter_map(|set| Override::of_set_in(set, &format!("[fleet.{name}] set")).ok());
        let sets = sets.collect();
        (own.host.unwrap_or_else(|| name.clone()), sets)
    });
    let servers = servers.collect();
    (fleet, servers)
}

fn read_words(node: &Node) -> Result<Vec<String>, Refusal> {
    let Value::List(nodes) = &node.value else {
        let refusal = node.place.refuse(format!("is {}, not a list of words", node.value.kind()));
        return Err(refusal.hint("for example: reach = [\"ssh\", \"{host}\"]"));
    };
    let words: Vec<String> = nodes.iter().map(section::text).collect::<Result<_, _>>()?;
    if !words.is_empty() && !words.iter().any(|word| word.contains(HOST)) {
        let refusal = node.place.refuse("names no host, so that all servers would be on one");
        return Err(refusal.hint("write {host} where the host belongs; [] is this machine"));
    }
    Ok(words)
}

fn read_sets(node: &Node) -> Result<Vec<String>, Refusal> {
    let Value::List(nodes) = &node.value else {
        let refusal = node.place.refuse(format!("is {}, not a list", node.value.kind()));
        return Err(refusal.hint("for example: set = [\"instance.0.log=/mnt/b/log\"]"));
    };
    let set = |node: &Node| {
        let text = section::text(node)?;
        match text.split_once('=') {
            Some((key, _)) if !key.trim().is_empty() => Ok(text),
            _ => Err(node.place.refuse(format!("\"{text}\" has no `key=value`"))),
        }
    };
    nodes.iter().map(set).collect()
}

/// A relative path would be one of this machine.
fn absolute(root: &Node) -> Result<(), Refusal> {
    let of = |node: &Node, key: &str| {
        node.entries()
            .iter()
            .filter(|(own, _)| own == key)
            .map(|(_, node)| node.clone())
            .collect::<Vec<_>>()
    };
    let scratch = of(root, "scratch");
    let mut paths = scratch.clone();
    if scratch.is_empty() {
        for table in ["instance", "copy"].iter().flat_map(|key| of(root, key)) {
            let Value::List(tables) = table.value else { continue };
            for table in tables {
                paths.extend(of(&table, "log"));
                for node in of(&table, "databases") {
                    match node.value {
                        Value::List(nodes) => paths.extend(nodes),
                        _ => paths.push(node),
                    }
                }
            }
        }
        paths.extend(of(root, "test").iter().flat_map(|test| of(test, "copy_to")));
    }
    let relative = paths
        .iter()
        .find(|node| matches!(&node.value, Value::Text(text) if !text.starts_with('/')));
    relative.map_or(Ok(()), |node| {
        let refusal = node.place.refuse("is a relative path, and other hosts have other folders");
        Err(refusal.hint("on other hosts a path begins with /"))
    })
}

/// Puts the server's name into every text.
fn replace(node: &mut Node, server: &str) {
    match &mut node.value {
        Value::Text(text) => *text = text.replace(SERVER_NAME, server),
        Value::List(nodes) => nodes.iter_mut().for_each(|node| replace(node, server)),
        Value::Table(entries) => entries.iter_mut().for_each(|(_, node)| replace(node, server)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const GOOD: &str = "servers = [\"MAIL1\", \"MAIL2\"]\n[test]\nduration = \"2h\"\nsessions = 8\n[[instance]]\n\
                        log = \"/mnt/{server}/log\"\ndatabases = [\"/mnt/{server}/1.edb\"]\ndatabase_size = \"1 GiB\"\n";

    fn checked(text: &str, set: &[&str]) -> Checked<FleetScenario> {
        let set: Vec<Override> = set.iter().map(|set| Override::of_set(set).unwrap()).collect();
        let document = Document::new("t.toml", text, Path::new("/home/me")).unwrap();
        document.check_fleet(&set).unwrap()
    }

    fn said(text: &str) -> Vec<String> {
        checked(text, &[]).mistakes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_server_has_a_scenario_of_its_own() {
        let text = format!(
            "{GOOD}[fleet]\nwait = \"1h\"\n[fleet.MAIL2]\nhost = \"root@b2\"\nset = [\"instance.0.log=/fast/log\"]\n"
        );
        let Checked { mistakes, value: fleet } = checked(&text, &["test.sessions=3"]);
        assert_eq!(mistakes, []);
        assert_eq!((fleet.name.as_str(), fleet.wait), ("t", Span::seconds(3_600)));
        let [one, two] = &fleet.servers[..] else { panic!("there are two") };
        assert_eq!(fleet.reach(one).unwrap(), ["ssh", "MAIL1"]);
        assert_eq!(fleet.reach(two).unwrap(), ["ssh", "root@b2"]);
        let log = |server: &FleetServer| server.scenario.instances[0].log.clone();
        assert_eq!([log(one), log(two)], [Path::new("/mnt/MAIL1/log"), Path::new("/fast/log")]);
        assert_eq!((one.is_special, two.is_special, two.scenario.test.sessions), (false, true, 3));
        let again = Document::new("t.toml", &two.scenario.to_toml(), Path::new("/"));
        assert_eq!(again.unwrap().test(&[]).unwrap(), two.scenario);
    }

    #[test]
    fn a_file_with_arrays_describes_both() {
        let text = format!("{GOOD}[fleet]\nreach = []\n[array]\n[volumes]\n\"/mnt\" = \"x\"\n");
        let fleet = checked(&text, &[]);
        assert_eq!(fleet.mistakes, []);
        assert_eq!(fleet.value.reach(&fleet.value.servers[0]), None);
    }

    #[test]
    fn mistakes_are_named_where_they_stand_and_once() {
        let with = |more: &str| said(&format!("{GOOD}{more}"));
        assert_eq!(
            said(&GOOD.replace("sessions = 8", "sessions = 0")),
            ["t.toml:4: `sessions = 0`: not between 1 and 10000"]
        );
        assert!(with("[fleet]\nreach = [\"ssh\"]")[0].contains("names no host"));
        assert!(with("[fleet]\nwaits = \"1h\"")[0].contains("did you mean `wait`?"));
        assert!(with("[fleet.MAIL3]\nhost = \"c\"")[0].contains("unknown key `MAIL3`"));
        assert!(with("[fleet.MAIL1]\nset = [\"x\"]")[0].contains("has no `key=value`"));
        let wrong = with("[fleet.MAIL1]\nset = [\"test.sesions=3\"]");
        assert!(
            wrong[0].starts_with("`[fleet.MAIL1] set test.sesions=3`: unknown key"),
            "{wrong:?}"
        );
        assert!(
            said(&GOOD.replace("\"/mnt/{server}/log", "\"log"))[0].contains("is a relative path")
        );
        assert!(said(&GOOD.replace("MAIL2", ".."))[0].contains("not a valid server name"));
        assert!(said(&GOOD.replace("MAIL2", "MAIL 2"))[0].contains("is no host"));
        let backup = GOOD.replace("[test]", "[test]\nkind = \"database-backup\"");
        assert!(said(&backup)[0].contains("does not begin at one instant"), "{:?}", said(&backup));
    }
}
