//! What a sandbox adds to a spawn: `/bin/true`, bare and confined by turns,
//! launched and forked, from a small parent and from larger ones. Prints one line of JSON.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use hermes_core::Confinement;
use hermes_sandbox::{LaunchSpec, Sandbox};

const ROUNDS: usize = 1000;
const MEGABYTE: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let root = dir.path().canonicalize()?;
    fs::write(root.join(".env"), "x")?;
    let plain = Confinement {
        read: ["/usr", "/bin", "/lib", "/lib64", "/etc", "/opt"].map(PathBuf::from).to_vec(),
        write: vec![root.clone()],
        ..Confinement::default()
    };
    let covered = Confinement { hidden: vec![root.join(".env")], ..plain.clone() };
    let plain = Sandbox::prepare(&plain, None)?;
    let covered = match Sandbox::prepare(&covered, None) {
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
    report.insert("held".into(), plain.enforcement().to_string().into());
    report.insert("parent_small".into(), small);
    report.insert("parent_20_mb".into(), usual);
    report.insert("parent_300_mb".into(), large);
    println!("{}", serde_json::Value::Object(report));
    Ok(())
}

/// How a child is made.
#[derive(Clone, Copy)]
enum Way<'a> {
    Bare,
    Launched(&'a Sandbox),
    Forked(&'a Sandbox),
}

type Make<'a> = fn(&'a Sandbox) -> Way<'a>;

fn measure<'a>(
    plain: &'a Sandbox,
    covered: Option<&'a Sandbox>,
) -> Result<serde_json::Value, Box<dyn Error>> {
    let mut report = serde_json::Map::new();
    // Apart, as a fork slows down what its parent does next.
    let kinds: [(&str, Make<'a>); 2] = [("", Way::Launched), ("forked_", Way::Forked)];
    for (name, way) in kinds {
        let mut ways = vec![("bare", Way::Bare), ("sandboxed", way(plain))];
        ways.extend(covered.map(|covered| ("with_namespace", way(covered))));
        let times = interleave(&ways.iter().map(|(_, way)| *way).collect::<Vec<_>>())?;
        let bare = times.first().copied().unwrap_or(f64::NAN);
        for ((what, _), time) in ways.iter().zip(times) {
            report.insert(format!("{name}{what}_us_p50"), time.into());
            let ratio = (time / bare * 100.0).round() / 100.0;
            match *what {
                "bare" => {}
                "sandboxed" => drop(report.insert(format!("{name}ratio"), ratio.into())),
                _ => drop(report.insert(format!("{name}{what}_ratio"), ratio.into())),
            }
        }
    }
    Ok(report.into())
}

/// The median of each way, in microseconds.
fn interleave(ways: &[Way<'_>]) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut times = vec![Vec::with_capacity(ROUNDS); ways.len()];
    for _ in 0..ROUNDS {
        for (way, list) in ways.iter().zip(&mut times) {
            let mut command = Command::new("/bin/true");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let start = Instant::now();
            match way {
                Way::Bare => command.spawn()?.wait()?,
                Way::Launched(sandbox) => {
                    sandbox.launch(&LaunchSpec::from_command(&command)?)?.wait()?
                }
                Way::Forked(sandbox) => sandbox.spawn(&mut command)?.wait()?,
            };
            list.push(u64::try_from(start.elapsed().as_nanos())?);
        }
    }
    Ok(times.into_iter().map(median).collect())
}

fn median(mut times: Vec<u64>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, |time| *time as f64 / 1000.0)
}
