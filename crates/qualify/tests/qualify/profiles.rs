//! Every version: a whole test with its pages, logs, mix, pacing and limits passes on fast storage,
//! and fails on storage that is a millisecond slower than that version allows.

use crate::small::{Small, failed, fails, instances, outcome};
use brunt_qualify::kinds::TestKind;
use brunt_qualify::plan::{EnginePlan, Limits, LoadPlan, Plan};
use brunt_qualify::rules::RuleId;
use brunt_report::result::{Outcome, Verdict};
use brunt_units::{ByteSize, Span};
use brunt_workload::profile::Version;
use brunt_world::{Class, Op};

/// Two small databases of a version, with sessions in its unit. Cache and checkpoint depth are
/// scaled down with the databases.
fn plan(version: Version, kind: TestKind) -> Plan {
    let profile = version.profile();
    let page = profile.page_size.value.bytes_u64();
    let mut instances = instances(2);
    let databases = instances.iter_mut().flat_map(|instance| &mut instance.databases);
    databases.for_each(|database| database.size = ByteSize::bytes(1_024 * page));
    let base = Plan::new(version, instances);
    Plan {
        kind,
        duration: Span::seconds(20),
        sessions: 2 * base.session_unit(),
        limits: Limits::of(profile, kind),
        engine: EnginePlan {
            cache_min: ByteSize::bytes(128 * page),
            cache_max: ByteSize::bytes(256 * page),
            start_percent: 10,
            stop_percent: 20,
            checkpoint_depth: ByteSize::mib(4),
            extension_pages: 16,
            ..EnginePlan::of(profile, 2)
        },
        load: LoadPlan { cost: Span::millis(5), ..LoadPlan::of(profile) },
        epoch_ms: 1_700_000_000_000,
        ..base
    }
}

fn try_version(version: Version) {
    let plan = plan(version, TestKind::Performance);
    let fast = Small::new(1).run(&plan);
    let result = fast.result(&plan);
    assert_eq!(failed(&result), Vec::<String>::new(), "{version}");
    assert_eq!(result.verdict, Verdict::Pass, "{version}");
    assert!(result.storage.details.setup.profile.ends_with(version.name()));
    let limit = plan.limits.latency.read_mean;
    let mut slow = Small::new(1);
    slow.latency = Box::new(move |_, request| match (request.class, request.op) {
        (Class::Database, Op::Read) => limit + Span::millis(1),
        _ => Span::micros(200),
    });
    let result = slow.run(&plan).result(&plan);
    assert_eq!(result.verdict, Verdict::Fail, "{version}");
    assert_eq!(failed(&result).len(), 1, "{version}: {:?}", failed(&result));
    fails(&result, RuleId::DatabaseReadAverage, Outcome::Failed);
}

#[test]
fn exchange_2003_and_2007() {
    Version::ALL[..3].iter().copied().for_each(try_version);
}

#[test]
fn exchange_2010() {
    try_version(Version::Exchange2010);
}

#[test]
fn exchange_2013_and_later() {
    Version::ALL[4..].iter().copied().for_each(try_version);
}

/// The worst sample of a stress test may be twice as slow as that of a performance test, in
/// versions that distinguish the two.
#[test]
fn the_same_storage_passes_a_lenient_limit_and_fails_a_strict_one() {
    for version in Version::ALL {
        let [strict, lenient] = [TestKind::Performance, TestKind::Stress]
            .map(|kind| Limits::of(version.profile(), kind).latency.read_sample);
        let judged = |kind| {
            let plan = plan(version, kind);
            let mut small = Small::new(1);
            // At least one sample of ten is a little slower than the strict limit.
            small.latency = Box::new(move |now, request| {
                let bad = (20..24).contains(&now.0.div_euclid(1_000_000_000));
                match bad && request.class == Class::Database && request.op == Op::Read {
                    true => strict + Span::millis(5),
                    false => Span::micros(200),
                }
            });
            let plan = Plan { warm_up_min: Span::seconds(16), ..plan };
            let result = small.run(&plan).result(&plan);
            outcome(&result, RuleId::DatabaseReadWorst)
        };
        assert_eq!(judged(TestKind::Performance), Outcome::Failed, "{version}");
        let wanted = match lenient > strict + Span::millis(5) {
            true => Outcome::Ok,
            false => Outcome::Failed,
        };
        assert_eq!(judged(TestKind::Stress), wanted, "{version}");
    }
}
