//! What a sandbox adds to a spawn: `/bin/true`, bare and confined by turns,
//! launched and forked, from a small parent and from larger ones. Prints one line of JSON.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use hermes_core::{ChildLimits, Confinement};
use hermes_sandbox::{Launch, Sandbox};

const ROUNDS: usize = 1000;
const MEGABYTE: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    fs::write(root.join(".env"), "x")?;
    let plain = Confinement {
        read: ["/usr", "/bin", "/lib", "/lib64", "/etc", "/opt"].map(PathBuf::from).to_vec(),
        write: vec![root.clone()],
        read_only: Vec::new(),
        hidden: Vec::new(),
        network: false,
        limits: ChildLimits::default(),
        bubblewrap: false,
    };
    let covered = Confinement { hidden: vec![root.join(".env")], ..plain.clone() };
    let plain = Sandbox::prepare(&plain)?;
    let covered = match Sandbox::prepare(&covered) {
        Ok(sandbox) => Some(sandbox),
        Err(error) if error.is_unsupported() => None,
        Err(error) => return Err(error.into()),
    };
    let mut report = serde_json::Map::new();
    let small = measure(&plain, covered.as_ref())?;
    let ballast = vec![1_u8; 20 * MEGABYTE];
    let usual = measure(&plain, covered.as_ref())?;
    let more = vec![1_u8; 280 * MEGABYTE];
    let large = measure(&plain, covered.as_ref())?;
    assert!(ballast.iter().chain(&more).step_by(4096).all(|byte| *byte == 1));
    report.insert("rounds".into(), ROUNDS.into());
    report.insert("held".into(), plain.held().to_string().into());
    report.insert("parent_small".into(), small);
    report.insert("parent_20_mb".into(), usual);
    report.insert("parent_300_mb".into(), large);
    println!("{}", serde_json::Value::Object(report));
    Ok(())
}

fn measure(
    plain: &Sandbox,
    covered: Option<&Sandbox>,
) -> Result<serde_json::Value, Box<dyn Error>> {
    let mut times: [Vec<u64>; 5] = Default::default();
    let launched = [false, false, false, true, true];
    let sandboxes = [None, Some(plain), covered, Some(plain), covered];
    for _ in 0..ROUNDS {
        for (kind, list) in times.iter_mut().enumerate() {
            let (sandbox, launched) = (sandboxes[kind], launched[kind]);
            if kind > 0 && sandbox.is_none() {
                continue;
            }
            let mut command = Command::new("/bin/true");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let start = Instant::now();
            match sandbox {
                Some(sandbox) if launched => sandbox.launch(&Launch::of(&command)?)?.wait()?,
                Some(sandbox) => sandbox.spawn(&mut command)?.wait()?,
                None => command.spawn()?.wait()?,
            };
            list.push(u64::try_from(start.elapsed().as_nanos())?);
        }
    }
    let [bare, plain, covered, launched, launched_covered] = times.map(median);
    let ratio = |time: f64| (time / bare * 100.0).round() / 100.0;
    Ok(serde_json::json!({
        "bare_us_p50": bare,
        "sandboxed_us_p50": launched,
        "ratio": ratio(launched),
        "with_namespace_us_p50": launched_covered,
        "with_namespace_ratio": ratio(launched_covered),
        "forked_us_p50": plain,
        "forked_ratio": ratio(plain),
        "forked_with_namespace_us_p50": covered,
        "forked_with_namespace_ratio": ratio(covered),
    }))
}

fn median(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, |time| *time as f64 / 1000.0)
}
