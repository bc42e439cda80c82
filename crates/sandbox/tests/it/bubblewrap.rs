//! The same confinement by way of bubblewrap.

use std::fs;
use std::io::ErrorKind;
use std::process::Command;

use hermes_sandbox::{LaunchSpec, ProbeOutcome, ProbeResult, Sandbox, probe, support};

use crate::support::{World, has_namespaces, run};

#[test]
fn bubblewrap_holds_as_well() {
    let mut world = World::new();
    world.confinement.bubblewrap = true;
    if support().bubblewrap.is_none() {
        let error = Sandbox::prepare(&world.confinement, None).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("install"), "{error}");
        eprintln!("skipped: no bubblewrap");
        return;
    }
    if !has_namespaces() {
        return;
    }
    fs::write(world.inside.join(".env"), "KEY\n").unwrap();
    fs::create_dir_all(world.inside.join(".git/hooks")).unwrap();
    world.confinement.hidden = vec![world.inside.join(".env")];
    world.confinement.read_only = vec![world.inside.join(".git/hooks")];
    let sandbox = world.sandbox();
    assert!(sandbox.enforcement().to_string().starts_with("bubblewrap, seccomp, mount namespace"));
    let outside = world.outside.join("secret");
    for script in [
        format!("cat {}", outside.display()),
        "cat .env".to_owned(),
        "echo x > .git/hooks/new".to_owned(),
        "mv .git other".to_owned(),
        "unshare -U true".to_owned(),
    ] {
        let ran = run(&sandbox, &world.inside, &script);
        assert!(!ran.ok && ran.out.is_empty(), "{script}: {ran:?}");
    }
    let ran = run(&sandbox, &world.inside, "echo x > new && cat new && pwd && ulimit -c");
    assert_eq!(ran.out, format!("x\n{}\n0", world.inside.display()), "{ran:?}");
    let mut command = Command::new("no-such-program");
    let missing = sandbox.spawn(command.env("PATH", "/usr/bin:/bin")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let mut command = Command::new("/usr/bin/env");
    command.env_clear().env("ONLY", "this").current_dir(&world.inside);
    let ran = crate::support::Ran::of(&sandbox, &mut command);
    assert!(ran.out.contains("ONLY=this") && !ran.out.contains("HOME="), "{ran:?}");
    // What appears later is hidden as well, and a launch is held like a spawn.
    world.confinement.hidden.push(world.inside.join("later"));
    let sandbox = world.sandbox();
    fs::write(world.inside.join("later"), "KEY\n").unwrap();
    assert!(!run(&sandbox, &world.inside, "cat later").ok);
    let mut command = Command::new("sh");
    command.args(["-c", "cat later; exit 3"]).current_dir(&world.inside);
    let mut child = sandbox.launch(&LaunchSpec::from_command(&command).unwrap()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let probes = probe(&world.confinement, &world.inside);
    let tried = probes.iter().filter(|it| it.got != ProbeOutcome::Untried);
    assert!(probes.len() > 4 && tried.clone().all(ProbeResult::passed), "{probes:#?}");
}
