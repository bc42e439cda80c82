use serde_json::json;

use super::*;

#[test]
fn a_run_that_made_up_for_others_tells_where_its_answer_is() {
    let at = "2026-01-02T03:04:05Z";
    let run: JobRun = serde_json::from_value(json!({
        "id": "j_1", "job": "j", "due": at, "started": at, "ended": at, "status": "ok",
        "missed": 5, "output": "cron/output/j/1.md",
    }))
    .expect("a run");
    assert_eq!(describe_run(&run), "5 missed before; cron/output/j/1.md");
}
