use std::path::Path;
use std::sync::Arc;

use hermes::Hermes;
use hermes::core::{CallStatus, ErrorKind};
use hermes::engine::{AllowAll, DenyAll};
use serde_json::{Value, json};

#[path = "../../../../examples/embedding/main.rs"]
#[allow(dead_code, unreachable_pub, reason = "a program, of which the test calls one function")]
mod example;

fn parse(content: &str) -> Value {
    serde_json::from_str(content).unwrap()
}

fn builder(root: &Path) -> hermes::HermesBuilder {
    std::fs::create_dir_all(root.join("work")).unwrap();
    Hermes::builder().home(root.join("home")).workspace(root.join("work"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_runs_its_batch() {
    let directory = tempfile::tempdir().unwrap();
    let results = example::run(directory.path()).await.unwrap();
    assert_eq!(results.len(), 4);
    for (result, id) in results.iter().zip(["1", "2", "3", "4"]) {
        assert_eq!(result.tool_call_id, id);
    }
    let counted = parse(&results[1].content);
    assert_eq!(counted["words"], 1, "{counted}");
    let printed = parse(&results[2].content);
    assert_eq!(printed["output"].as_str().map(str::trim), Some("14"), "{printed}");
    assert_eq!(results[3].status, CallStatus::Error(ErrorKind::ApprovalRequired));
}

#[tokio::test]
async fn a_profile_that_does_not_exist_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = builder(directory.path()).profile("nonesuch").build().unwrap_err();
    assert!(error.to_string().contains("nonesuch"), "{error}");
}

#[tokio::test]
async fn only_the_chosen_families_are_registered() {
    let directory = tempfile::tempdir().unwrap();
    let hermes = builder(directory.path()).families(&["file"]).build().unwrap();
    let snapshot = hermes.engine().snapshot();
    assert!(snapshot.get("read_file").is_some());
    assert!(snapshot.get("terminal").is_none());
}

#[tokio::test]
async fn the_policy_of_the_program_decides() {
    let directory = tempfile::tempdir().unwrap();
    let write = json!({"path": "a.txt", "content": "x"});
    let strict = builder(directory.path()).policy(Arc::new(DenyAll)).build().unwrap();
    let refused = strict.call("write_file", write.clone(), &strict.caller()).await;
    assert_eq!(refused.status, CallStatus::Error(ErrorKind::Denied));
    let open = builder(directory.path()).policy(Arc::new(AllowAll)).build().unwrap();
    assert!(open.call("write_file", write, &open.caller()).await.is_success());
}

#[tokio::test]
async fn calls_are_recorded_in_the_audit_log() {
    let directory = tempfile::tempdir().unwrap();
    let hermes = builder(directory.path()).build().unwrap();
    hermes.call("directory_list", json!({"path": "."}), &hermes.caller()).await;
    hermes.close().await.unwrap();
    let log = std::fs::read_to_string(hermes.home().audit_dir().join("audit.jsonl")).unwrap();
    assert!(log.contains("directory_list"), "{log}");
}
