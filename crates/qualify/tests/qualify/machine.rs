//! Rules and reasons about the machine, which nothing in a virtual world can break. So whole tests
//! get made-up counters of a machine.

use crate::small::{Left, Small, fails, outcome, plan};
use brunt_qualify::goal::Target;
use brunt_qualify::plan::Plan;
use brunt_qualify::result::{Beneath, Surroundings, VolumeUse, foreseen};
use brunt_qualify::rules::{RuleId, SystemLog};
use brunt_report::RunResult;
use brunt_report::host_counters::{OWN_PROCESSOR, STEAL, THROTTLED};
use brunt_report::result::{HostCounter, Outcome, Verdict, Volume};
use brunt_run::Standstill;
use brunt_units::{ByteSize, Span};

/// A short test of small pages; both are reasons not to qualify, and the only ones.
fn test() -> (Left, Plan) {
    let plan = plan();
    (Small::new(1).run(&plan), plan)
}

fn counter(name: &str, avg: f64) -> HostCounter {
    HostCounter { avg: Some(avg), min: Some(avg), max: Some(avg), ..HostCounter::absent(name) }
}

/// A machine with one volume under everything, where `percent` of the reads reached the device.
fn machine(test: &Left, surroundings: &mut Surroundings, percent: u64, gib: u64) {
    let engine: u64 = test.run.as_ref().unwrap().board.with(|meters| {
        let databases = meters.databases.iter();
        databases.map(|d| d.reads.total().bytes + d.maintenance.total().bytes).sum()
    });
    surroundings.volumes = vec![VolumeUse {
        volume: Volume {
            mount: "/mnt/a".to_owned(),
            file_system: "xfs".to_owned(),
            device: "sdb".to_owned(),
            device_reads: Some(1),
            engine_reads: 0,
            stack: Vec::new(),
            redundancy: Vec::new(),
        },
        bytes: Some(ByteSize::gib(gib)),
        device_read: Some(ByteSize::bytes((engine * percent).div_euclid(100))),
        device_written: None,
        databases: vec![0, 1],
        logs: vec![0, 1],
        beneath: Beneath::Devices,
    }];
    surroundings.machine.memory_bytes = 1 << 20;
    surroundings.host =
        vec![counter(OWN_PROCESSOR, 40.0), counter(STEAL, 0.0), counter(THROTTLED, 0.0)];
}

#[test]
fn a_program_that_runs_on_time_says_so() {
    let (mut test, plan) = test();
    let result = test.result(&plan);
    assert_eq!(
        outcome(&result, RuleId::TesterDelay),
        Outcome::NotMeasured,
        "a modelled clock is never late"
    );
    let run = test.run.as_mut().unwrap();
    (0..100).for_each(|_| run.delays.record(Span::micros(200)));
    let result = test.result(&plan);
    assert_eq!(outcome(&result, RuleId::TesterDelay), Outcome::Ok);
}

fn reasons(result: &RunResult) -> String {
    result.reasons.join("; ")
}

#[test]
fn reads_that_never_reached_the_device_make_a_test_invalid() {
    let (test, plan) = test();
    let told = |percent| test.result_on(&plan, |s| machine(&test, s, percent, 1));
    let sound = told(100);
    assert_eq!(outcome(&sound, RuleId::DeviceAgrees), Outcome::Ok, "{:?}", sound.rules);
    assert_eq!(sound.verdict, Verdict::Pass);
    let cached = told(50);
    fails(&cached, RuleId::DeviceAgrees, Outcome::Failed);
    assert_eq!(cached.verdict, Verdict::Invalid);
    assert!(reasons(&cached).contains("O_DIRECT was ignored"), "{}", reasons(&cached));
    let shared = told(150);
    fails(&shared, RuleId::DeviceAgrees, Outcome::Advisory);
    assert_eq!(shared.verdict, Verdict::Pass);
    let masked = "a cache in between would not be seen";
    assert!(reasons(&shared).contains(masked), "{}", reasons(&shared));
    let kept = test.result_on(&plan, |s| {
        machine(&test, s, 100, 1);
        s.volumes[0].device_written = Some(ByteSize::bytes(0));
    });
    fails(&kept, RuleId::DeviceAgrees, Outcome::Advisory);
    assert_eq!(kept.verdict, Verdict::Pass);
    let written = "would not be seen (a cache keeps writes back; /mnt/a: ";
    assert!(reasons(&kept).contains(written), "{}", reasons(&kept));
}

#[test]
fn a_host_that_holds_the_program_back_is_named_and_does_not_qualify() {
    let (test, plan) = test();
    let told = |name: &'static str, percent| {
        test.result_on(&plan, |surroundings| {
            machine(&test, surroundings, 100, 1);
            let mut host = surroundings.host.iter_mut();
            let found = host.find(|counter| counter.counter == name).unwrap();
            *found = counter(name, percent);
        })
    };
    let fine = told(OWN_PROCESSOR, 90.0);
    for rule in [RuleId::TesterProcessor, RuleId::HostStolenTime, RuleId::HostThrottledTime] {
        assert_eq!(outcome(&fine, rule), Outcome::Ok, "{rule:?}");
    }
    let busy = told(OWN_PROCESSOR, 99.0);
    fails(&busy, RuleId::TesterProcessor, Outcome::Advisory);
    let shards = Plan { shards: 2, ..plan.clone() };
    let spread = test.result_on(&shards, |surroundings| {
        machine(&test, surroundings, 100, 1);
        let mut host = surroundings.host.iter_mut();
        let found = host.find(|counter| counter.counter == OWN_PROCESSOR);
        *found.unwrap() = counter(OWN_PROCESSOR, 170.0);
    });
    assert_eq!(outcome(&spread, RuleId::TesterProcessor), Outcome::Ok);
    let stolen = told(STEAL, 12.0);
    fails(&stolen, RuleId::HostStolenTime, Outcome::Advisory);
    assert!(reasons(&stolen).contains("12.0 % of the processor time went to other machines"));
    let throttled = told(THROTTLED, 30.0);
    fails(&throttled, RuleId::HostThrottledTime, Outcome::Advisory);
    let reason = "a limit on processor time held the program back for 30.0 % of the time";
    assert!(reasons(&throttled).contains(reason), "{}", reasons(&throttled));
    for result in [busy, stolen, throttled] {
        assert_eq!(result.verdict, Verdict::Pass, "it only advises");
    }
}

/// Storage that is too slow, and a pass; both as far as anybody can tell.
fn slow_and_fast() -> [Left; 2] {
    let on = |latency| {
        let small = Small { latency: Box::new(move |_, _| latency), ..Small::new(1) };
        small.run(&plan())
    };
    [Span::millis(30), Span::micros(200)].map(on)
}

/// The rule that explains why a test is invalid fails; beside a pass it advises.
fn blamed(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Invalid => Outcome::Failed,
        _ => Outcome::Advisory,
    }
}

#[test]
fn a_program_that_stood_still_is_not_the_storages_fault() {
    let plan = plan();
    for mut test in slow_and_fast() {
        let still = |test: &mut Left, longest| {
            let run = test.run.as_mut().unwrap();
            run.collected.as_mut().unwrap().standstill =
                Standstill { count: 1, longest, after: Span::seconds(7), suspended: false };
        };
        still(&mut test, Span::seconds(1));
        let ran = test.result(&plan);
        assert_eq!(outcome(&ran, RuleId::TesterStandstill), Outcome::Ok);
        assert_ne!(ran.verdict, Verdict::Invalid);
        still(&mut test, Span::seconds(9));
        let stood = test.result(&plan);
        fails(&stood, RuleId::TesterStandstill, Outcome::Failed);
        assert_eq!(stood.verdict, Verdict::Invalid, "what was not loaded shows nothing");
        let sentence = &stood.storage.details.sentence;
        let said = "): brunt did not run for 9.0 s, 7 s after the start";
        assert!(sentence.contains(said) && !sentence.contains(": ."), "{sentence}");
        let reason = "brunt did not run for 9.0 s, 7 s after the start";
        assert!(reasons(&stood).contains(reason), "{}", reasons(&stood));
    }
}

#[test]
fn a_limit_on_io_is_not_the_storages_fault() {
    let plan = plan();
    for (test, wanted) in slow_and_fast().into_iter().zip([Verdict::Invalid, Verdict::Pass]) {
        let told =
            |limits: Vec<String>| test.result_on(&plan, |around| around.io_limits = Some(limits));
        let free = told(Vec::new());
        assert_eq!(outcome(&free, RuleId::HostIoLimits), Outcome::Ok);
        assert_ne!(free.verdict, Verdict::Invalid);
        let limit = "rbps=1048576 on sda in /sys/fs/cgroup/batch";
        let limited = told(vec![limit.to_owned()]);
        fails(&limited, RuleId::HostIoLimits, blamed(wanted));
        assert_eq!(limited.verdict, wanted);
        assert!(reasons(&limited).contains(limit), "{}", reasons(&limited));
    }
}

#[test]
fn a_load_above_its_pace_does_not_qualify() {
    let (mut test, plan) = test();
    let mut with = |share: f64| {
        let run = test.run.as_mut().unwrap();
        let ios = run.board.with(|meters| {
            let databases = meters.databases.iter();
            let counts = databases.map(|m| m.reads.total().count + m.writes.total().count);
            counts.sum::<u64>()
        });
        let seconds = run.collected.as_ref().unwrap().length.as_seconds();
        run.target =
            Some(Target { io_per_s: ios as f64 / seconds / 1.2 / share, headroom_percent: 20 });
        test.result(&plan)
    };
    let paced = with(1.04);
    assert_eq!(outcome(&paced, RuleId::LoadPace), Outcome::Ok);
    let above = with(1.12);
    fails(&above, RuleId::LoadPace, Outcome::Advisory);
    assert_eq!(above.verdict, Verdict::Pass);
    let reason = "the load was 12.0 % above its pace (";
    assert!(reasons(&above).contains(reason), "{}", reasons(&above));
    let sentence = &above.storage.details.sentence;
    assert!(sentence.contains("above its pace, so this was not the load"), "{sentence}");
    assert!(!sentence.contains("above the target"), "{sentence}");
}

#[test]
fn an_error_that_the_kernel_reports_fails_the_test() {
    let (test, plan) = test();
    let told = |errors, warnings| {
        test.result_on(&plan, |surroundings| {
            machine(&test, surroundings, 100, 1);
            surroundings.system_log = Some(SystemLog {
                errors,
                warnings,
                remark: "I/O error, dev sda, sector 8".to_owned(),
            });
        })
    };
    assert_eq!(told(Some(0), 0).verdict, Verdict::Pass);
    assert_eq!(told(None, 0).verdict, Verdict::Pass, "nobody looked");
    fails(&told(Some(0), 2), RuleId::SystemLog, Outcome::Advisory);
    let failed = told(Some(1), 0);
    fails(&failed, RuleId::SystemLog, Outcome::Failed);
    assert_eq!(failed.verdict, Verdict::Fail);
}

/// Changes the counters of a machine.
type Change = fn(&mut Surroundings);

/// Every reason besides its length for which a whole test may not qualify; none of them fails the
/// test.
#[test]
fn each_circumstance_that_flatters_is_a_reason() {
    let (test, plan) = test();
    let told = |plan: &Plan, change: Change| {
        let mut before = Vec::new();
        let result = test.result_on(plan, |surroundings| {
            machine(&test, surroundings, 100, 1);
            surroundings.volumes[0].bytes = Some(ByteSize::mib(20));
            change(surroundings);
            before = foreseen(plan, surroundings);
        });
        assert_eq!(result.verdict, Verdict::Pass);
        assert!(!result.qualifies);
        // All of them are known before the test starts; databases grow while it runs.
        let without_sizes = |reasons: &[String]| {
            let words = reasons.iter().flat_map(|reason| reason.split(' '));
            let words = words.filter(|word| word.parse::<f64>().is_err());
            words.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(without_sizes(&before), without_sizes(&result.reasons));
        result.reasons
    };
    let nothing = told(&plan, |_| {});
    assert_eq!(
        nothing,
        [
            "measured for 20 s, not for 2 hours: --duration 2h",
            "page 4 KiB, and Exchange 2013 has 32 KiB"
        ]
    );
    let cases: [(&str, Change); 4] = [
        ("/mnt/a is in memory (zram0)", |s| {
            s.volumes[0].beneath = Beneath::Memory("zram0".to_owned());
        }),
        ("through the page cache", |s| s.backend.direct = false),
        ("less than the machine's memory", |s| {
            s.machine.memory_bytes = 1 << 30;
        }),
        ("of their volume, less than 25 %", |s| {
            s.volumes[0].bytes = Some(ByteSize::gib(1));
        }),
    ];
    for (word, change) in cases {
        let reasons = told(&plan, change);
        assert_eq!(reasons.len(), 3, "{reasons:?}");
        let is_named = |reason: &String| reason.contains(word);
        assert!(reasons.iter().any(is_named), "{reasons:?}");
    }
    let cached = Plan { array_cache: Some(ByteSize::gib(1)), ..plan.clone() };
    let reasons = told(&cached, |_| {});
    assert!(reasons[2].contains("less than the storage's cache (1 GiB)"), "{reasons:?}");
    // A length of two hours would qualify.
    let long = test.collected().length;
    assert_eq!(long, Span::seconds(20));
}
