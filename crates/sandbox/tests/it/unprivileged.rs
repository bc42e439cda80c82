//! The sandbox of somebody who is not root.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use hermes_sandbox::{ProbeOutcome, probe};

use crate::support::{World, has_namespaces, is_root};

const SOMEBODY: u32 = 54_321;

#[test]
fn somebody_who_is_not_root_has_terminals_of_their_own() {
    if !is_root() {
        inner();
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(dir.path(), Some(SOMEBODY), Some(SOMEBODY)).unwrap();
    // The file itself, wherever it is and whoever may look there.
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", "unprivileged::inner", "--ignored", "--nocapture"]);
    command.uid(SOMEBODY).gid(SOMEBODY).env("TMPDIR", dir.path()).current_dir("/");
    let output = command.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    assert!(out.contains("1 passed"), "{out}\n{err}");
}

#[test]
#[ignore = "run by the other one, as somebody else"]
fn inner() {
    if !has_namespaces() {
        return;
    }
    let own = rustix::process::getuid().as_raw();
    let mut world = World::new();
    fs::create_dir(world.inside.join("kept")).unwrap();
    world.confinement.read_only = vec![world.inside.join("kept")];
    let sandbox = world.sandbox();
    let gaps = &sandbox.enforcement().gaps;
    assert!(!gaps.iter().any(|gap| gap.contains("terminals")), "{gaps:?}");
    let ran = world.sh("ls /dev/pts; id -u; echo x > new; mkdir kept/x || echo held");
    assert_eq!(ran.out, format!("ptmx\n{own}\nheld"), "{ran:?}");
    assert_eq!(fs::metadata(world.inside.join("new")).unwrap().uid(), own);
    let probes = probe(&world.confinement, &world.inside);
    let terminal = probes.iter().find(|probe| probe.what.contains("a terminal of another"));
    assert_eq!(terminal.map(|probe| probe.got), Some(ProbeOutcome::Blocked), "{terminal:?}");
    let loose: Vec<_> = probes.iter().filter(|probe| !probe.passed()).collect();
    assert!(loose.is_empty(), "{loose:?}");
}
