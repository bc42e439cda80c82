//! A batch interrupted at any point resumes without repeats or gaps.

use std::sync::Arc;

use hermes_batch::{BatchError, PromptFile};
use hermes_core::CancellationToken;
use proptest::prelude::*;
use serde_json::json;

use crate::worker::{Parrot, Place, asked, prompts, work};

#[test]
fn every_prompt_is_written_down_once_and_in_order() {
    let place = Place::new();
    let parrot = Arc::new(Parrot::default());
    let summary = work(place.batch(&prompts(10)), &parrot).unwrap();
    assert_eq!((summary.done, summary.failed, summary.trajectories), (10, 0, 10));
    let rows = place.rows("trajectories.jsonl");
    let order: Vec<u64> = rows.iter().map(|row| row["prompt_index"].as_u64().unwrap()).collect();
    assert_eq!(order, (0..10).collect::<Vec<_>>());
    let row = &rows[5];
    assert_eq!(row["metadata"]["batch_num"], 1);
    assert_eq!(
        (&row["completed"], &row["partial"], &row["api_calls"]),
        (&json!(true), &json!(false), &json!(2))
    );
    assert_eq!(
        row["tool_stats"],
        json!({
            "read_file": {"count": 1, "success": 1, "failure": 0},
            "terminal": {"count": 0, "success": 0, "failure": 0},
        })
    );
    assert_eq!(row["tool_error_counts"], json!({"read_file": 0, "terminal": 0}));
    let speakers: Vec<&str> = row["conversations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["from"].as_str().unwrap())
        .collect();
    assert_eq!(speakers, ["system", "human", "gpt", "tool", "gpt"]);
    // Toolsets differ between prompts and match those given to the worker.
    let drawn: std::collections::BTreeSet<String> =
        rows.iter().map(|row| row["toolsets_used"].to_string()).collect();
    assert!(drawn.len() > 1, "{drawn:?}");
    let given = row["conversations"][3]["value"].as_str().unwrap();
    assert!(given.contains(&row["toolsets_used"].to_string()), "{given}");
    let statistics: serde_json::Value =
        serde_json::from_slice(&std::fs::read(place.output().join("statistics.json")).unwrap())
            .unwrap();
    assert_eq!(statistics["sums"]["tool_stats"]["read_file"]["count"], 10);
}

#[test]
fn what_fails_is_told_and_tried_again() {
    let place = Place::new();
    let lines = r#"{"prompt":"one"}
not json
{"prompt":"fail"}

{"prompt":"panic","extra":1}
{"question":"which?"}
{"prompt":"  "}
{"prompt":"with a picture","image":"x.png"}
{"prompt":"partial and missing"}
"#;
    let batch = place.batch(lines);
    let bad: Vec<usize> = batch.prompts.bad.iter().map(|bad| bad.line).collect();
    assert_eq!(bad, [2, 6, 7, 8]);
    let summary = work(batch, &Arc::new(Parrot::default())).unwrap();
    assert_eq!((summary.done, summary.failed, summary.bad_lines), (2, 2, 4));
    let mut failures = place.rows("failures.jsonl");
    failures.sort_by_key(|row| row["prompt_index"].as_u64());
    assert_eq!(
        (&failures[0]["prompt_index"], &failures[0]["error"]),
        (&json!(2), &json!("the model is gone"))
    );
    assert!(failures[1]["error"].as_str().unwrap().contains("crashed"));
    let partial = &place.rows("trajectories.jsonl")[1];
    assert_eq!(
        (&partial["partial"], &partial["tool_error_counts"]["read_file"]),
        (&json!(true), &json!(1))
    );

    let mut again = place.batch(lines);
    again.resume = true;
    let parrot = Arc::new(Parrot { mended: true, ..Parrot::default() });
    let summary = work(again, &parrot).unwrap();
    assert_eq!((summary.done_before, summary.done, summary.failed), (2, 4, 0));
    assert_eq!(asked(&parrot).into_keys().collect::<Vec<_>>(), [2, 4]);
    assert!(place.rows("failures.jsonl").is_empty());
}

#[test]
fn a_batch_that_is_stopped_goes_on() {
    let place = Place::new();
    let token = CancellationToken::new();
    let parrot = Arc::new(Parrot { stop: Some((5, token)), ..Parrot::default() });
    let summary = work(place.batch(&prompts(30)), &parrot).unwrap();
    assert!(summary.stopped && summary.done < 10, "{summary:?}");
    let mut again = place.batch(&prompts(30));
    again.resume = true;
    let summary = work(again, &Arc::new(Parrot::default())).unwrap();
    assert_eq!((summary.done, summary.trajectories, summary.stopped), (30, 30, false));
}

#[test]
fn batches_are_not_mixed() {
    let place = Place::new();
    work(place.batch(&prompts(2)), &Arc::new(Parrot::default())).unwrap();
    let parrot = Arc::new(Parrot::default());
    assert!(matches!(work(place.batch(&prompts(2)), &parrot), Err(BatchError::AlreadyExists(_))));
    let mut other = place.batch(&prompts(2));
    other.resume = true;
    other.plan.seed = 8;
    let error = work(other, &parrot).unwrap_err().to_string();
    assert_eq!(error, "The batch was started with seed 7, not 8");
    let mut nothing = place.batch(&prompts(2));
    nothing.toolsets.clear();
    assert!(matches!(work(nothing, &parrot), Err(BatchError::NoToolset(_))));
    assert!(asked(&parrot).is_empty());
}

#[test]
fn a_prompt_that_has_changed_is_another_one() {
    let place = Place::new();
    work(place.batch(&prompts(3)), &Arc::new(Parrot::default())).unwrap();
    let mut again = place.batch(&prompts(3).replace("prompt 1", "prompt one"));
    again.resume = true;
    let parrot = Arc::new(Parrot::default());
    let summary = work(again, &parrot).unwrap();
    assert_eq!((summary.done, summary.strange, summary.trajectories), (3, 1, 3));
    assert_eq!(asked(&parrot).into_keys().collect::<Vec<_>>(), [1]);
    let text = place.rows("trajectories.jsonl")[1]["conversations"][1]["value"].clone();
    assert_eq!(text, "prompt one");
}

#[test]
fn lines_that_move_are_not_run_again() {
    let place = Place::new();
    let before = "{\"prompt\":\"one\"}\n{\"prompt\":\"two\"}\n{\"prompt\":\"one\"}\n";
    work(place.batch(before), &Arc::new(Parrot::default())).unwrap();
    let mut again =
        place.batch(&format!("{{\"prompt\":\"new\"}}\n{before}{{\"prompt\":\"one\"}}\n"));
    again.resume = true;
    let parrot = Arc::new(Parrot::default());
    let summary = work(again, &parrot).unwrap();
    assert_eq!((summary.done_before, summary.done, summary.strange), (3, 5, 0));
    assert_eq!(asked(&parrot).into_keys().collect::<Vec<_>>(), [0, 4]);
    let rows = place.rows("trajectories.jsonl");
    let shown: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["prompt_index"].as_u64().unwrap(),
                row["conversations"][1]["value"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(shown, [(0, "new"), (1, "one"), (2, "two"), (3, "one"), (4, "one")]);
}

#[test]
fn the_whole_leaves_out_what_is_not_wanted() {
    let place = Place::new();
    let lines = "{\"prompt\":\"think\"}\n{\"prompt\":\"act\"}\n";
    let mut batch = place.batch(lines);
    batch.needs_reasoning = true;
    let summary = work(batch, &Arc::new(Parrot::default())).unwrap();
    assert_eq!((summary.done, summary.trajectories, summary.left_out), (2, 1, 1));
    let mut batch = place.batch(lines);
    batch.resume = true;
    batch.tools = vec!["terminal".into()];
    let summary = work(batch, &Arc::new(Parrot::default())).unwrap();
    assert_eq!((summary.done, summary.trajectories, summary.left_out), (2, 0, 2));
}

#[test]
fn odd_lines_are_numbered_and_long_ones_passed_over() {
    let text =
        format!("\u{feff}{{\"prompt\":\"a\"}}\r\n{}\n{{\"prompt\":\"b\"}}", "x".repeat(17 << 20));
    let read = PromptFile::read(text.as_bytes()).unwrap();
    let places: Vec<usize> = read.prompts.iter().map(|prompt| prompt.index).collect();
    assert_eq!((places, read.bad[0].line), (vec![0, 2], 2));
    let deep = format!("{{\"prompt\":{}", "[".repeat(100_000));
    assert_eq!(PromptFile::read(deep.as_bytes()).unwrap().bad.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    /// Killed at any moment: files end at any byte, what follows was never
    /// written. What comes of it is what would have come without.
    #[test]
    fn a_kill_leaves_neither_repeats_nor_gaps(
        count in 1_usize..14,
        kills in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_usize..4), 1..4),
    ) {
        let whole = Place::new();
        work(whole.batch(&prompts(count)), &Arc::new(Parrot::default())).unwrap();
        let wanted = whole.rows("trajectories.jsonl");
        prop_assert_eq!(wanted.len(), count);

        let place = Place::new();
        work(place.batch(&prompts(count)), &Arc::new(Parrot::default())).unwrap();
        for (which, at, gone) in kills {
            let files = place.batches();
            let file = which.get(&files);
            let bytes = std::fs::read(file).unwrap();
            let cut = at.index(bytes.len() + 1);
            std::fs::write(file, &bytes[..cut]).unwrap();
            // Files that were not started yet.
            for file in files.iter().rev().take(gone.min(files.len() - 1)) {
                std::fs::remove_file(file).unwrap();
            }
            let kept: std::collections::BTreeSet<u64> = place
                .batches()
                .iter()
                .flat_map(|file| {
                    let text = String::from_utf8(std::fs::read(file).unwrap()).unwrap();
                    let whole = text.rfind('\n').map_or(0, |end| end + 1);
                    text[..whole].lines()
                        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["prompt_index"].as_u64().unwrap())
                        .collect::<Vec<_>>()
                })
                .collect();
            let mut again = place.batch(&prompts(count));
            again.resume = true;
            let parrot = Arc::new(Parrot::default());
            let summary = work(again, &parrot).unwrap();
            prop_assert_eq!((summary.done, summary.done_before), (count, kept.len()));
            let asked = asked(&parrot);
            prop_assert!(asked.values().all(|times| *times == 1));
            let missing: Vec<usize> =
                (0..count).filter(|index| !kept.contains(&(*index as u64))).collect();
            prop_assert_eq!(asked.into_keys().collect::<Vec<_>>(), missing);
            prop_assert_eq!(place.rows("trajectories.jsonl"), wanted.clone());
        }
    }
}
