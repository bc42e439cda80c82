#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hermes_core::{ErrorKind, erase};
use serde_json::{Value, json};

use super::*;

async fn call(arguments: Value) -> Result<Value, ToolError> {
    let bound = erase(SystemInfo::default()).bind(&arguments)?;
    let output = bound.run(ToolContext::bare(std::env::temp_dir())).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

fn keys(report: &Value) -> Vec<&str> {
    report.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn the_usual_report_has_four_sections() {
    for arguments in [json!({}), json!({"sections": []})] {
        let report = call(arguments).await.unwrap();
        assert_eq!(keys(&report), ["os", "cpu", "memory", "disk"]);
        assert!(!report["os"]["arch"].as_str().unwrap().is_empty());
        assert!(report["cpu"]["logical_cores"].as_u64().unwrap() >= 1);
    }
}

#[tokio::test]
async fn memory_adds_up() {
    let report = call(json!({"sections": ["memory"]})).await.unwrap();
    assert_eq!(keys(&report), ["memory"]);
    let memory = &report["memory"];
    let number = |key: &str| memory[key].as_u64().unwrap();
    assert!(number("total") > 0);
    assert!(number("used") <= number("total"));
    assert!(number("available") <= number("total"));
    assert!((0.0..=100.0).contains(&memory["used_percent"].as_f64().unwrap()));
}

#[tokio::test]
async fn a_busy_process_is_seen_to_be_busy() {
    let stop = Arc::new(AtomicBool::new(false));
    let busy = Arc::clone(&stop);
    let work = std::thread::spawn(move || {
        let mut turns = 0_u64;
        while !busy.load(Ordering::Relaxed) {
            turns = std::hint::black_box(turns.wrapping_add(1));
        }
    });
    // A process that has used no time yet shows none in its first report.
    let mut own = Value::Null;
    for _ in 0..20 {
        let report = call(json!({"sections": ["processes"], "limit": 100})).await.unwrap();
        let top = report["processes"]["top"].as_array().unwrap();
        assert_eq!(top.len() as u64, report["processes"]["total"].as_u64().unwrap().min(100));
        let shares: Vec<f64> = top.iter().map(|row| row["cpu_percent"].as_f64().unwrap()).collect();
        assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
        own = top
            .iter()
            .find(|row| row["pid"] == json!(std::process::id()))
            .cloned()
            .unwrap_or_default();
        if own["cpu_percent"].as_f64().is_some_and(|share| share > 0.0) {
            break;
        }
    }
    stop.store(true, Ordering::Relaxed);
    work.join().unwrap();
    assert!(own["cpu_percent"].as_f64().is_some_and(|share| share > 0.0), "{own}");
    assert!(own["memory"].as_u64().unwrap() > 0, "{own}");
}

#[tokio::test]
async fn processes_can_be_sorted_by_memory() {
    let report =
        call(json!({"sections": ["processes"], "sort_by": "memory", "limit": 3})).await.unwrap();
    let top = report["processes"]["top"].as_array().unwrap();
    assert!(top.len() <= 3 && !top.is_empty());
    let sizes: Vec<u64> = top.iter().map(|row| row["memory"].as_u64().unwrap()).collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
}

#[tokio::test]
async fn all_means_all() {
    let report = call(json!({"sections": ["all"], "limit": 1})).await.unwrap();
    let keys: Vec<&str> = keys(&report).into_iter().filter(|key| *key != "notes").collect();
    assert_eq!(
        keys,
        ["os", "cpu", "memory", "disk", "network", "processes", "limits", "temperature", "gpu"]
    );
    // What says nothing says why.
    let notes = report["notes"].to_string();
    for section in ["temperature", "gpu"] {
        let is_empty = report[section].as_array().unwrap().is_empty();
        assert!(!is_empty || notes.contains(section), "{section}: {notes}");
    }
    for disk in report["disk"].as_array().unwrap() {
        assert!(disk["available"].as_u64().unwrap() <= disk["total"].as_u64().unwrap());
    }
    assert!(report.to_string().len() < 20_000, "{report}");
}

#[tokio::test]
async fn a_cancelled_call_stops() {
    let cx = ToolContext::bare(std::env::temp_dir());
    cx.cancel.cancel();
    let bound = erase(SystemInfo::default()).bind(&json!({})).unwrap();
    assert_eq!(bound.run(cx).await.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn an_unknown_section_is_refused() {
    for arguments in
        [json!({"sections": ["weather"]}), json!({"sort_by": "name"}), json!({"verbose": true})]
    {
        assert_eq!(call(arguments).await.unwrap_err().kind(), ErrorKind::InvalidArguments);
    }
}
