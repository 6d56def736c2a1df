//! Kubernetes: an Indexed Job over one claim, and a Job for the merge that is suspended until it is
//! wanted.
//!
//! * An index is tried three times more (`backoffLimitPerIndex`), but not after 64 (`FailIndex`).
//!   A pod that its node takes with it does not count (`Ignore` on `DisruptionTarget`).
//! * A new pod of an index begins when the old one is gone (`podReplacementPolicy: Failed`).
//! * Every index runs: those whose points are there end at once.
//! * The plan is in the manifest. Records need a claim that all nodes can write (`ReadWriteMany`).

use super::Job;

/// The manifest.
pub(in super::super) fn script(job: &Job) -> String {
    let (about, label, parts) = (job.about(), job.label(), job.parts);
    let merge = format!("{label}-merge");
    // JSON without line breaks inside texts is a block scalar.
    let plan: String = job.plan.lines().map(|line| format!("    {line}\n")).collect();
    let part_pod = pod(job, &label, &["part", "/plan", "auto"], "Never");
    let merge_pod = pod(job, &label, &["merge", "/plan", "--out", "/plan/runs"], "Never");
    format!(
        r#"{about}.
#   brunt plan DIR --for kubernetes --image IMAGE | kubectl apply -f -
#   kubectl wait --for=condition=complete --timeout=24h job/{label}
#   kubectl patch job/{merge} -p '{{"spec":{{"suspend":false}}}}'
#   kubectl wait --for=condition=complete --timeout=10m job/{merge}; kubectl logs job/{merge}
# Applied again after `kubectl delete job {label} {merge}`, it computes what is missing.
apiVersion: v1
kind: ConfigMap
metadata:
  name: {label}
data:
  plan.json: |
{plan}---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {label}
spec:
  accessModes: [ReadWriteMany]
  resources:
    requests:
      storage: 1Gi
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {label}
spec:
  completions: {parts}
  parallelism: {parts}
  completionMode: Indexed
  backoffLimitPerIndex: 3
  maxFailedIndexes: {parts}
  podReplacementPolicy: Failed
  podFailurePolicy:
    rules:
    - action: FailIndex
      onExitCodes:
        containerName: brunt
        operator: In
        values: [64]
    - action: Ignore
      onPodConditions:
      - type: DisruptionTarget
        status: "True"
{part_pod}---
apiVersion: batch/v1
kind: Job
metadata:
  name: {merge}
spec:
  suspend: true
  backoffLimit: 0
{merge_pod}"#
    )
}

/// The template of a pod that runs brunt with `arguments`.
fn pod(job: &Job, label: &str, arguments: &[&str], restart: &str) -> String {
    let arguments: Vec<String> = arguments.iter().map(|one| format!("\"{one}\"")).collect();
    let (image, arguments) = (serde_json::json!(job.image), arguments.join(", "));
    format!(
        r#"  template:
    spec:
      restartPolicy: {restart}
      containers:
      - name: brunt
        image: {image}
        command: ["brunt"]
        args: [{arguments}]
        env:
        - name: NODE_NAME
          valueFrom:
            fieldRef:
              fieldPath: spec.nodeName
        resources:
          requests:
            cpu: "1"
            memory: 500Mi
          limits:
            cpu: "1"
            memory: 1Gi
        volumeMounts:
        - name: points
          mountPath: /plan
        - name: plan
          mountPath: /plan/plan.json
          subPath: plan.json
      volumes:
      - name: points
        persistentVolumeClaim:
          claimName: {label}
      - name: plan
        configMap:
          name: {label}
"#
    )
}
