//! Manifests are held to the schemas of Kubernetes by `kubernetes-validate`, and to the rules
//! between fields, which it does not know, by what is written here; scripts to the shell.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::*;

/// Reads manifests; writes what is wrong with them.
const SCRIPT: &str = r#"
import sys, yaml, kubernetes_validate
faults = []
def want(holds, what):
    if not holds: faults.append(what)
documents = list(yaml.safe_load_all(sys.stdin))
for document in documents:
    try: kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
    except Exception as error: faults.append(f"{document.get('kind')}: {error}")
names = {(d["kind"], d["metadata"]["name"]) for d in documents}
want(len(names) == len(documents), "two of one name")
for kind, name in names: want(len(name) <= 63 and name.strip("-") == name, f"name {name}")
for job in (d for d in documents if d["kind"] == "Job"):
    spec = job["spec"]; pod = spec["template"]["spec"]
    containers = {c["name"]: c for c in pod["containers"]}
    volumes = {v["name"]: v for v in pod.get("volumes", [])}
    want(pod.get("restartPolicy") in ("Never", "OnFailure"), "a pod of a Job does not restart Always")
    policy = spec.get("podFailurePolicy")
    if policy:
        want(pod.get("restartPolicy") == "Never", "podFailurePolicy needs restartPolicy Never")
        want(spec.get("podReplacementPolicy", "Failed") == "Failed", "podFailurePolicy needs podReplacementPolicy Failed")
        for rule in policy["rules"]:
            want(("onExitCodes" in rule) != ("onPodConditions" in rule), "one condition a rule")
            codes = rule.get("onExitCodes")
            if codes:
                want(codes.get("containerName", "brunt") in containers, "a rule names a container")
                want(codes["operator"] != "In" or 0 not in codes["values"], "0 is no failure")
                want(sorted(set(codes["values"])) == codes["values"], "codes are sorted")
            if rule["action"] == "FailIndex": want("backoffLimitPerIndex" in spec, "FailIndex needs backoffLimitPerIndex")
    if "backoffLimitPerIndex" in spec: want(spec.get("completionMode") == "Indexed", "backoffLimitPerIndex needs Indexed")
    if "maxFailedIndexes" in spec:
        want("backoffLimitPerIndex" in spec, "maxFailedIndexes needs backoffLimitPerIndex")
        want(spec["maxFailedIndexes"] <= spec["completions"], "maxFailedIndexes is at most completions")
    if spec.get("completionMode") == "Indexed": want("completions" in spec, "Indexed needs completions")
    for container in containers.values():
        for mount in container.get("volumeMounts", []): want(mount["name"] in volumes, f"mount {mount['name']}")
        for what, most in container["resources"]["limits"].items(): want(what in container["resources"]["requests"], f"request {what}")
    for volume in volumes.values():
        if "persistentVolumeClaim" in volume: want(("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in names, "claim")
        if "configMap" in volume: want(("ConfigMap", volume["configMap"]["name"]) in names, "configMap")
plans = [d["data"]["plan.json"] for d in documents if d["kind"] == "ConfigMap"]
want(plans == [sys.argv[1]], "the plan is not the plan")
print("\n".join(faults))
"#;

fn job() -> Job {
    Job {
        name: "Mail: \"ä\" & more than thirty characters of name".to_owned(),
        folder: PathBuf::from("/srv/it's a plan"),
        program: PathBuf::from("/opt/my brunt"),
        parts: 12,
        is_in_rounds: false,
        lacking: vec![0, 3, 4],
        asked: 12,
        points: 3,
        plan: "{\n  \"text\": \"a: b\\n# c\\t'\\\"\",\n  \"ä\": []\n}\n".to_owned(),
        digest: [0xab; 32],
        image: "registry.example/brunt:0.1.0".to_owned(),
    }
}

/// What is wrong with `manifest`; `None` without Python.
fn faults(manifest: &str) -> Option<String> {
    let Some(python) = env::var_os("BRUNT_READERS_PYTHON") else {
        if let Some(list) = env::var_os("BRUNT_SKIPPED") {
            let list = OpenOptions::new().create(true).append(true).open(list);
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            writeln!(list.unwrap(), "{name}: no Python with kubernetes-validate").unwrap();
        }
        return None;
    };
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT, &job().plan]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = command.spawn().unwrap();
    running.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn a_manifest_keeps_to_kubernetes() {
    let manifest = kubernetes(&job());
    let Some(none) = faults(&manifest) else {
        return;
    };
    assert_eq!(none, "");
    for (from, to, fault) in [
        ("restartPolicy: Never", "restartPolicy: OnFailure", "needs restartPolicy Never"),
        ("completionMode: Indexed", "completionMode: NonIndexed", "needs Indexed"),
        (
            "podReplacementPolicy: Failed",
            "podReplacementPolicy: TerminatingOrFailed",
            "needs podReplacementPolicy",
        ),
        ("backoffLimitPerIndex: 3", "backoffLimitPerIndexx: 3", "backoffLimitPerIndexx"),
        ("containerName: brunt", "containerName: other", "names a container"),
        ("values: [64]", "values: [0, 64]", "0 is no failure"),
        ("claimName: brunt", "claimName: blunt", "claim"),
    ] {
        let found = faults(&manifest.replacen(from, to, 1)).unwrap();
        assert!(manifest.contains(from) && found.contains(fault), "{from}: {found}");
    }
}

#[test]
fn scripts_are_read_by_a_shell() {
    for script in [slurm(&job()), shell(&job()), slurm(&Job { lacking: Vec::new(), ..job() })] {
        let mut command = Command::new("sh");
        let mut running = command.args(["-n"]).stdin(Stdio::piped()).spawn().unwrap();
        running.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        assert!(running.wait().unwrap().success(), "{script}");
    }
}

#[test]
fn words_are_quoted_and_missing_parts_named() {
    let text = slurm(&job());
    assert!(text.contains("--array=0,3-4 "), "{text}");
    assert!(text.contains(r"'/opt/my brunt' part '/srv/it'\''s a plan' auto"), "{text}");
    assert!(text.contains("--dependency=afterany:\"$array\""), "{text}");
    let done = slurm(&Job { lacking: Vec::new(), ..job() });
    assert!(!done.contains("--array") && !done.contains("--dependency"), "{done}");
    assert!(shell(&job()).contains(" {}/12 ::: 0 3 4 "), "{}", shell(&job()));
    let search = github(&Job { is_in_rounds: true, ..job() });
    assert!(search.contains("part: [0]\n") && search.contains("/1\n"), "{search}");
    let many = github(&Job { parts: 1000, ..job() });
    assert!(many.contains("/256\n") && many.contains(" 255]"), "{many}");
}
