//! A directory that children see as a view of some of its entries.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;

use hermes_core::PartialDir;
use hermes_sandbox::probe;

use crate::support::{World, has_namespaces, python};

/// A home of which a child sees some entries, with a view within the view.
fn world() -> (World, PathBuf) {
    let mut world = World::new();
    let home = world.outside.parent().unwrap().join("home");
    fs::create_dir_all(home.join(".config/gh")).unwrap();
    fs::create_dir_all(home.join(".config/editor")).unwrap();
    fs::create_dir_all(home.join("project")).unwrap();
    for (file, text) in [
        (".netrc", "OLD"),
        (".profile", "visible"),
        (".config/gh/hosts", "token"),
        (".config/editor/settings", "dark"),
        ("project/code", "fn"),
    ] {
        fs::write(home.join(file), text).unwrap();
    }
    symlink("project", home.join("link")).unwrap();
    world.confinement.read.push(home.clone());
    world.confinement.write.push(home.join("project"));
    let open = |names: &[&str]| names.iter().map(|name| home.join(name)).collect();
    world.confinement.partial_dirs = vec![
        PartialDir { dir: home.clone(), open: open(&[".profile", ".config", "project", "link"]) },
        PartialDir { dir: home.join(".config"), open: open(&[".config/editor"]) },
    ];
    (world, home)
}

#[test]
fn a_child_sees_the_entries_of_a_view_and_no_others() {
    if !has_namespaces() {
        return;
    }
    let (world, home) = world();
    let script = format!(
        "cd {}; ls -A . .config; cat .profile link/code .config/editor/settings; \
         echo new > project/new && cat link/new; cat .netrc .config/gh/hosts",
        home.display()
    );
    let ran = world.sh(&script);
    let wanted = ".:\n.config\n.profile\nlink\nproject\n\n.config:\neditor\nvisiblefndarknew";
    assert_eq!(ran.out, wanted, "{ran:?}");
    assert!(!ran.ok);
    assert!(!world.sh(&format!("echo x > {}/made", home.display())).ok);
    assert!(!world.sh(&format!("rm {}/.profile", home.display())).ok);
    assert_eq!(fs::read_to_string(home.join("project/new")).unwrap(), "new\n");
}

/// `permissions verify` took the redacted copy for the secret.
#[test]
fn a_redacted_file_counts_as_hidden() {
    if !has_namespaces() {
        return;
    }
    let (mut world, home) = world();
    let npmrc = home.join(".npmrc");
    fs::write(&npmrc, "//npm.example/:_authToken=abc\nfund=false\n").unwrap();
    world.confinement.hidden = vec![npmrc.clone()];
    world.confinement.redacted = vec![npmrc.clone()];
    assert_eq!(world.sh(&format!("cat {}", npmrc.display())).out, "fund=false");
    let probes = probe(&world.confinement, &world.inside);
    let read = probes.into_iter().find(|it| it.what.contains(".npmrc")).unwrap();
    assert!(read.passed() && read.detail.contains("credentials"), "{read:?}");
}

/// S A3: one replacement of a hidden file was enough to read the old content
/// and the new one.
#[test]
fn a_secret_that_is_replaced_while_a_child_runs_stays_invisible() {
    if !has_namespaces() {
        return;
    }
    let (world, home) = world();
    let program = format!(
        "import sys
seen = set()
print('ready', flush=True)
for line in sys.stdin:
    for _ in range(200):
        for name in ('.netrc', '.netrc.new', '.config/gh/hosts'):
            try: seen.add(open('{}/' + name).read())
            except OSError: pass
    print('looked', flush=True)
print(seen)
",
        home.display()
    );
    let Some(mut command) = python(&program) else { return };
    command.current_dir(&world.inside).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = world.sandbox().spawn(&mut command).unwrap();
    let mut input = child.stdin.take().unwrap();
    for turn in 0..40 {
        use std::io::Write as _;
        input.write_all(b"go\n").unwrap();
        for name in [".netrc", ".config/gh/hosts"] {
            let fresh = home.join(format!("{name}.new"));
            fs::write(&fresh, format!("NEW {turn}")).unwrap();
            fs::rename(&fresh, home.join(name)).unwrap();
        }
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.trim_end().ends_with("set()"), "{text}");
}
