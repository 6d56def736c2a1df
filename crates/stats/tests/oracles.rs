//! What our statistics say, and what scipy, arch and otava say.
//!
//! `BRUNT_STATISTICS_PYTHON` names a Python interpreter that has them; without it the test counts
//! as skipped.

use std::io::Write as _;
use std::process::{Command, Stdio};

use brunt_stats::batch_means::Part;
use brunt_stats::{
    Memory, Track, change_points, cliffs_delta, replicates, share_beyond, student_bound,
};
use brunt_world::random::{Stream, Streams};
use serde_json::{Value, json};

const PYTHON: &str = "BRUNT_STATISTICS_PYTHON";
const SKIPPED: &str = "BRUNT_SKIPPED";
const SCRIPT: &str = include_str!("oracles.py");

/// What the libraries answer; `None` without them.
fn answers(asked: &Value) -> Option<Value> {
    let Some(python) = std::env::var_os(PYTHON) else {
        if let Some(list) = std::env::var_os(SKIPPED) {
            let mut list = std::fs::OpenOptions::new().append(true).open(list).unwrap();
            writeln!(list, "statistics_agree_with_other_libraries: {PYTHON} is not set").unwrap();
        }
        return None;
    };
    let mut program = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = program.stdin.take().unwrap();
    stdin.write_all(asked.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn normal(draw: &mut Stream) -> f64 {
    (0..12).map(|_| draw.unit()).sum::<f64>() - 6.0
}

/// Samples around `level`, each like the one before by `like`.
fn series(name: &str, count: usize, like: f64, level: f64) -> Vec<f64> {
    let mut draw = Streams::new(1).named(name);
    let mut deviation = normal(&mut draw);
    let values = std::iter::repeat_with(|| {
        deviation = like * deviation + (1.0 - like * like).sqrt() * normal(&mut draw);
        level + deviation
    });
    values.take(count).collect()
}

fn track(values: &[f64]) -> Track {
    let parts = values.iter().map(|sum| Part { sum: *sum, weight: 1.0 });
    Track::ratio(&parts.collect::<Vec<_>>()).unwrap()
}

fn numbers(answers: &Value, name: &str) -> Vec<f64> {
    serde_json::from_value(answers[name].clone()).unwrap()
}

fn close(name: &str, ours: &[f64], theirs: &[f64], share: f64) {
    assert_eq!(ours.len(), theirs.len(), "{name}");
    for (own, other) in ours.iter().zip(theirs) {
        let allowed = share * other.abs().max(1e-9);
        assert!((own - other).abs() <= allowed, "{name}: {own}, and elsewhere {other}");
    }
}

#[test]
fn statistics_agree_with_other_libraries() {
    let shares = [0.3, 0.05, 0.01, 0.001];
    let freedoms = [1.0, 1.7, 3.0, 12.5, 80.0, 5_000.0];
    let student = shares.iter().flat_map(|s| freedoms.map(|f| (*s, f)));
    let student: Vec<(f64, f64)> = student.collect();
    let beyond = [0.1, 1.0, 1.96, 2.8, 4.0];
    let likes = [(60, 0.0), (60, 0.7), (240, 0.3), (480, 0.9), (480, -0.5), (2_000, 0.6)];
    let remembered =
        likes.map(|(count, like)| series(&format!("{count} {like}"), count, like, 50.0));
    let blocks = [1, 5, 20, 31];
    let scattered = blocks.map(|block| (block, series("scatter", 240, 0.6, 50.0)));
    let pairs: Vec<(Vec<f64>, Vec<f64>)> = [0.0, 0.3, 2.0]
        .map(|apart| (series("a", 40, 0.0, 50.0), series("b", 33, 0.0, 50.0 + apart)))
        .into();
    let tied = (vec![1.0, 2.0, 2.0, 3.0], vec![2.0, 3.0, 4.0]);
    let pairs: Vec<_> = pairs.into_iter().chain([tied]).collect();
    let steps = |name: &str, levels: &[(usize, f64)]| -> Vec<f64> {
        let parts = levels.iter().enumerate();
        parts
            .flat_map(|(at, (count, level))| series(&format!("{name} {at}"), *count, 0.0, *level))
            .collect()
    };
    let changing = [
        steps("one", &[(30, 50.0), (20, 54.0)]),
        steps("two", &[(20, 50.0), (25, 55.0), (15, 49.0)]),
        steps("none", &[(40, 50.0)]),
    ];
    let asked = json!({
        "student": student,
        "beyond": beyond,
        "block": remembered,
        "scatter": scattered.iter().map(|(block, values)| json!({"block": block, "values": values})).collect::<Vec<_>>(),
        "delta": pairs,
        "changes": changing,
    });
    let Some(answers) = answers(&asked) else {
        return;
    };

    let own: Vec<f64> = student.iter().map(|(s, f)| student_bound(*s, *f)).collect();
    close("Student's bounds", &own, &numbers(&answers, "student"), 1e-6);
    let own = beyond.map(share_beyond);
    close("shares beyond", &own, &numbers(&answers, "beyond"), 1e-9);
    let own: Vec<f64> = remembered.iter().map(|values| Memory::of(&track(values)).rule).collect();
    let theirs = numbers(&answers, "block").into_iter().map(|block| block.max(1.0));
    close("blocks", &own, &theirs.collect::<Vec<_>>(), 1e-6);
    let own = scattered.map(|(block, values)| {
        let track = track(&values);
        let mut stream = Streams::new(1).named("blocks");
        let drawn = replicates(&[&track], block, 4_000, &mut |bound| stream.below(bound));
        let mean = drawn.iter().map(|one| one[0]).sum::<f64>() / 4_000.0;
        let squares: f64 = drawn.iter().map(|one| (one[0] - mean).powi(2)).sum();
        // The influence is relative to the mean.
        (squares / 4_000.0).sqrt() * track.log.exp()
    });
    close("bootstrap", &own, &numbers(&answers, "scatter"), 0.06);
    let own: Vec<f64> = pairs.iter().filter_map(|(a, b)| cliffs_delta(a, b)).collect();
    close("Cliff's delta", &own, &numbers(&answers, "delta"), 1e-9);
    let own = changing.map(|values| {
        let mut stream = Streams::new(1).named("shuffles");
        let found = change_points(&[values.to_vec()], 0.05, &mut |bound| stream.below(bound));
        found.iter().map(|change| change.at).collect::<Vec<_>>()
    });
    assert_eq!(json!(own), answers["changes"]);
}
