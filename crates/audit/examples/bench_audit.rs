//! What a call pays for its entry, and how fast entries get to disk.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use hermes_audit::{AuditLog, LogOptions, verify};
use serde::Serialize;

/// About what the engine records of a call.
#[derive(Serialize)]
struct Sample<'a> {
    session: &'a str,
    task: &'a str,
    call: String,
    tool: &'a str,
    effects: [Effect<'a>; 1],
    verdict: &'a str,
    rule: &'a str,
    status: &'a str,
    duration_us: u64,
    chars: usize,
    coerced: usize,
}

#[derive(Serialize)]
struct Effect<'a> {
    scope: &'a str,
    resource: &'a str,
}

fn sample(number: usize) -> Sample<'static> {
    Sample {
        session: "session-0001",
        task: "main",
        call: format!("call_{number:08}"),
        tool: "read_file",
        effects: [Effect { scope: "file.read", resource: "/home/user/project/src/main.rs" }],
        verdict: "allow",
        rule: "profile:standard",
        status: "success",
        duration_us: 1234,
        chars: 5678,
        coerced: 0,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wait = Duration::from_secs(60);
    let dir = tempfile::tempdir()?;
    let log = AuditLog::open_with(
        dir.path().to_owned(),
        LogOptions { keep_files: 100, ..LogOptions::default() },
    );
    log.append(sample(0));
    log.flush(wait)?;

    let mut times = Vec::new();
    for number in 1..=50_000 {
        let entry = sample(number);
        let start = Instant::now();
        log.append(&entry);
        times.push(start.elapsed());
    }
    log.flush(wait)?;
    times.sort();
    let at = |part: usize| times.get(times.len() * part / 1000).copied().unwrap_or_default();
    println!("append, in a row:   p50 {:?}, p99 {:?}, p99.9 {:?}", at(500), at(990), at(999));

    let mut times = Vec::new();
    for number in 1..=300 {
        std::thread::sleep(Duration::from_millis(3));
        let entry = sample(number);
        let start = Instant::now();
        log.append(&entry);
        times.push(start.elapsed());
    }
    times.sort();
    let at = |part: usize| times.get(times.len() * part / 1000).copied().unwrap_or_default();
    println!("append, one by one: p50 {:?}, p99 {:?}", at(500), at(990));

    let start = Instant::now();
    let count = 500_000;
    for chunk in 0..count / 50_000 {
        for number in 0..50_000 {
            log.append(sample(chunk * 50_000 + number));
        }
        log.flush(wait)?;
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    println!("to the file:        {rate:.0} entries/s");

    let start = Instant::now();
    for number in 0..300 {
        log.append(sample(number));
        log.flush(wait)?;
    }
    println!("append and flush:   {:?} each", start.elapsed() / 300);

    let start = Instant::now();
    let report = verify(dir.path());
    let rate = report.entries as f64 / start.elapsed().as_secs_f64();
    println!("verify:             {rate:.0} entries/s; {report}");
    Ok(())
}
