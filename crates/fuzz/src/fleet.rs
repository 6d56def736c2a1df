//! What coordinators and agents of a fleet hear: streams, and messages with valid frames.

use brunt_agents::Permit;
use brunt_fleet::{
    Admission, Agent, Coordinator, End, FIRST, Facts, FileEntry, Frames, FromAgent, Greeting,
    Hello, HostPlan, How, Limits, Phase, Plan, Program, Status, Task, ToAgent, frame,
};
use brunt_report::result::Verdict;
use brunt_units::{ByteSize, Span, Time};

fn program() -> Program {
    Program { version: "0.1.0".to_owned(), commit: None }
}

fn limits() -> Limits {
    let wait = Span::seconds(60);
    Limits {
        wait,
        max_skew: wait,
        same_machine: false,
        reach: wait,
        lasts: wait,
        bytes_max: 1 << 20,
    }
}

/// A stream, a message, and what the owner of a host allows. One that is read can be said again; neither side falls over it.
pub fn fleet(bytes: &[u8]) {
    let mut frames = Frames::default();
    frames.push(bytes);
    while let Ok(Some(_)) = frames.next_content() {}
    if let Ok(permit) = Permit::parse(&String::from_utf8_lossy(bytes)) {
        let folders = ["/mnt/db".into()];
        let _ = permit.refusal(&folders, ByteSize::gib(1), Span::seconds(1));
    }
    if let Some(hello) = Hello::read(bytes) {
        assert_eq!(Hello::read(&hello.to_content()), Some(hello));
    }
    if let Some(greeting) = Greeting::read(bytes) {
        assert_eq!(Greeting::read(&greeting.to_content()), Some(greeting));
    }
    if let Some(message) = ToAgent::read(bytes) {
        assert_eq!(ToAgent::read(&message.to_content()).as_ref(), Some(&message));
        let mut agent = Agent::new(Span::seconds(60), Time::ZERO);
        agent.hear(message, Time(1));
        agent.tick(Time(2));
        drop((agent.orders(), agent.said()));
    }
    if let Some(message) = FromAgent::read(bytes) {
        assert_eq!(FromAgent::read(&message.to_content()), Some(message));
    }
    coordinate(bytes);
}

/// A host says `bytes` after a greeting.
fn coordinate(bytes: &[u8]) {
    let host = HostPlan { name: "A".to_owned(), run: "r".to_owned(), scenario: String::new() };
    let plan = Plan {
        program: program(),
        coordinator: 1,
        replace: false,
        hosts: vec![host],
        limits: limits(),
    };
    let mut coordinator = Coordinator::new(plan, Time::ZERO);
    coordinator.tick(Time(1));
    coordinator.connected(0, Time(2));
    let greeting = Greeting { program: program(), admission: Admission::Attached };
    let said = [FIRST, &frame(&greeting.to_content())].concat();
    coordinator.heard(0, &said, Time(3));
    if let Some(bytes) = bytes.get(..bytes.len().min(1 << 16)) {
        coordinator.heard(0, &frame(bytes), Time(4));
    }
    for second in 1..100 {
        coordinator.tick(Time::ZERO + Span::seconds(second));
        drop(coordinator.deeds());
    }
    if let Some(report) = coordinator.report() {
        assert_ne!(report.verdict, Verdict::Pass, "no folder is here");
    }
}

/// One of each kind.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let hello = Hello { program: program(), run: "r".to_owned(), coordinator: 7 };
    let end = End { how: How::Complete(Verdict::Pass), at: Some(Time(9)), has_folder: true };
    let status = Status {
        phase: Phase::Ended,
        begin: Some(Time(3)),
        collect: Some(Time(5)),
        collected: Some(Time(5)),
        end: Some(end),
        ..Status::default()
    };
    let file = FileEntry { name: "result.json".to_owned(), bytes: 3, sum: 1 };
    let from = [
        FromAgent::Facts(Box::new(Facts { boot: "b".to_owned(), ..Facts::default() })),
        FromAgent::Status(Box::new(status)),
        FromAgent::Pong { number: 1, at: Time(77) },
        FromAgent::Silent { lasted: Span::seconds(6) },
        FromAgent::Files(vec![file]),
        FromAgent::Piece { file: 0, offset: 0, bytes: vec![1, 2, 3] },
    ];
    let to = [
        ToAgent::Check(Box::new(Task { scenario: "[test]".to_owned(), ..Task::default() })),
        ToAgent::Begin { at: Time(8) },
        ToAgent::Cut,
        ToAgent::Read { file: 0, offset: 9 },
    ];
    let mut seeds = vec![hello.to_content(), [FIRST, &frame(&hello.to_content())].concat()];
    let permit = "folders = [\"/mnt/db1\"]\nbytes = \"2 TiB\"\nlongest = \"26h\"\n";
    seeds.push(permit.as_bytes().to_vec());
    seeds.extend(from.iter().map(FromAgent::to_content));
    seeds.extend(to.iter().map(ToAgent::to_content));
    seeds
}
