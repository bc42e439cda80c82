//! Files: the trees, what is taken out of them, and ways around.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use crate::support::{Ran, World, has_namespaces, is_root, python, run};

#[test]
fn the_workspace_can_be_used_as_usual() {
    let world = World::new();
    let ran = world.sh(
        "echo one > a && mkdir d && mv a d/b && ln d/b d/c && ln -s b d/l && cat d/l d/c \
         && echo two >> d/b && : > d/b && rm -r d && echo kept > z && echo gone > /dev/null \
         && head -c 4 /dev/urandom > r",
    );
    assert!(ran.ok, "{ran:?}");
    assert_eq!(ran.out, "one\none");
    assert_eq!(fs::read_to_string(world.inside.join("z")).unwrap(), "kept\n");
    assert!(!world.inside.join("d").exists());
}

#[test]
fn what_is_outside_can_be_neither_read_nor_written() {
    let world = World::new();
    let outside = world.outside.display();
    for script in [
        format!("cat {outside}/secret"),
        format!("ls {outside}"),
        format!("echo x > {outside}/new"),
        format!("echo x >> {outside}/secret"),
        format!("rm {outside}/secret"),
        format!("mkdir {outside}/d"),
        format!("mv {outside}/secret ."),
        format!("ln {outside}/secret linked && cat linked"),
        format!("cp /usr/bin/env {outside}/env"),
        "cat /etc/shadow".to_owned(),
        "echo x > /usr/bin/new".to_owned(),
        "echo x > /proc/sys/kernel/core_pattern".to_owned(),
    ] {
        let ran = world.sh(&script);
        assert!(!ran.ok, "{script}: {ran:?}");
        assert!(!ran.out.contains("secret"), "{script}: {ran:?}");
    }
    assert_eq!(fs::read_to_string(world.outside.join("secret")).unwrap(), "the secret\n");
    assert_eq!(fs::read_dir(&world.outside).unwrap().count(), 1);
}

#[test]
fn a_file_outside_cannot_be_truncated() {
    let world = World::new();
    let program = format!(
        "import os\nfor way in (lambda p: os.truncate(p, 0), \
         lambda p: os.open(p, os.O_RDONLY | os.O_TRUNC)):\n try:\n  way('{}')\n  print('done')\n \
         except OSError as e:\n  print(e.errno)",
        world.outside.join("secret").display()
    );
    let mut confinement = world.confinement.clone();
    confinement.read.push(world.outside.clone());
    let sandbox = hermes_sandbox::Sandbox::prepare(&confinement, None).unwrap();
    let Some(mut command) = python(&program) else { return };
    let ran = Ran::of(&sandbox, &mut command);
    assert!(ran.ok && !ran.out.contains("done"), "{ran:?}");
    assert_eq!(fs::read_to_string(world.outside.join("secret")).unwrap(), "the secret\n");
}

#[test]
fn mode_owner_times_and_attributes_of_a_file_outside_stay() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let program = "import os, sys\nfor way in (lambda p: os.chmod(p, 0o777), \
         lambda p: os.chown(p, os.getuid(), os.getgid()), lambda p: os.utime(p, (0, 0)), \
         lambda p: os.setxattr(p, b'user.x', b'y'), \
         lambda p: os.fchmod(os.open(p, os.O_RDONLY), 0o777)):\n try:\n  way(PLACE)\n  \
         print('done')\n except OSError as e:\n  print(e.errno)";
    let mut confinement = world.confinement.clone();
    confinement.read.push(world.outside.clone());
    let sandbox = hermes_sandbox::Sandbox::prepare(&confinement, None).unwrap();
    let tried = |place: &std::path::Path| {
        let program = program.replace("PLACE", &format!("{:?}", place.display().to_string()));
        python(&program).map(|mut command| Ran::of(&sandbox, &mut command))
    };
    let secret = world.outside.join("secret");
    let before = fs::metadata(&secret).unwrap();
    let Some(ran) = tried(&secret) else { return };
    assert!(ran.ok && !ran.out.contains("done"), "{ran:?}");
    let after = fs::metadata(&secret).unwrap();
    assert_eq!(after.permissions(), before.permissions());
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
    // Inside, all of it goes on as before.
    fs::write(world.inside.join("own"), "").unwrap();
    let ran = tried(&world.inside.join("own")).unwrap();
    assert_eq!(ran.out, "done\n".repeat(5).trim(), "{ran:?}");
}

#[test]
fn a_link_to_the_outside_leads_nowhere() {
    let world = World::new();
    symlink(world.outside.join("secret"), world.inside.join("link")).unwrap();
    symlink(&world.outside, world.inside.join("folder")).unwrap();
    assert!(!world.sh("cat link").ok);
    assert!(!world.sh("echo x > folder/new").ok);
    assert!(!world.outside.join("new").exists());
}

#[test]
fn hidden_files_and_folders_show_nothing() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    fs::write(world.inside.join(".env"), "KEY=1\n").unwrap();
    fs::create_dir_all(world.inside.join("deep/keys")).unwrap();
    fs::write(world.inside.join("deep/keys/id"), "KEY=2\n").unwrap();
    world.confinement.hidden = vec![world.inside.join(".env"), world.inside.join("deep/keys")];
    assert!(world.sandbox().enforcement().mount_namespace);
    for script in [
        "cat .env",
        "cat deep/keys/id",
        "cp .env copy && cat copy",
        "ln .env hard && cat hard",
        "mv .env moved && cat moved",
        "mv deep other; cat other/keys/id",
        "rm -rf .env",
        "echo x > .env",
        "echo x > deep/keys/new",
        "cat /proc/self/cwd/.env",
        "cat /proc/$PPID/cwd/.env",
        "cat /proc/$PPID/root$PWD/.env",
        "cat /proc/1/root$PWD/.env",
    ] {
        let ran = world.sh(script);
        assert!(!ran.ok && !ran.out.contains("KEY"), "{script}: {ran:?}");
    }
    assert!(world.sh("echo x > deep/new && echo x > new").ok);
    assert_eq!(fs::read_to_string(world.inside.join(".env")).unwrap(), "KEY=1\n");
}

#[test]
fn protected_paths_can_be_read_and_not_changed() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let hooks = world.inside.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::write(hooks.join("pre-commit"), "true\n").unwrap();
    fs::write(world.inside.join(".git/config"), "[core]\n").unwrap();
    world.confinement.read_only = vec![hooks.clone(), world.inside.join(".git/config")];
    for script in [
        "echo x > .git/hooks/pre-commit",
        "echo x > .git/hooks/new",
        "rm .git/hooks/pre-commit",
        "mv .git/hooks .git/old",
        "mv .git old",
        "rm -r .git",
        "echo x > .git/new-config && mv .git/new-config .git/config",
        "ln -s /tmp .git/hooks/link",
        "chmod 777 .git/hooks/pre-commit",
        "touch .git/config",
    ] {
        let ran = world.sh(script);
        assert!(!ran.ok, "{script}: {ran:?}");
    }
    let ran = world.sh("cat .git/hooks/pre-commit && echo x > .git/index && mv .git/index .git/i");
    assert!(ran.ok, "{ran:?}");
    assert_eq!(ran.out, "true");
    assert_eq!(fs::read_to_string(hooks.join("pre-commit")).unwrap(), "true\n");
    assert_eq!(fs::read_to_string(world.inside.join(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn protected_paths_that_are_missing_cannot_be_made() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    fs::create_dir(world.inside.join(".git")).unwrap();
    let hooks = world.inside.join(".git/hooks");
    world.confinement.read_only = vec![hooks.clone(), world.inside.join("new/deep/file")];
    let sandbox = world.sandbox();
    assert_eq!(sandbox.enforcement().placeholders, [hooks.clone(), world.inside.join("new")]);
    for script in [
        "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
        "rm -rf .git/hooks && mkdir .git/hooks && echo x > .git/hooks/a",
        "mkdir -p new/deep && echo x > new/deep/file",
        "mv .git g && mkdir -p .git/hooks",
    ] {
        let ran = run(&sandbox, &world.inside, script);
        assert!(!ran.ok, "{script}: {ran:?}");
    }
    drop(sandbox);
    assert!(!hooks.exists() && !world.inside.join("new").exists());
}

#[test]
fn a_file_that_was_replaced_is_covered_again() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let (secret, config) = (world.inside.join(".env"), world.inside.join("config"));
    fs::write(&secret, "KEY=1\n").unwrap();
    fs::write(&config, "a\n").unwrap();
    world.confinement.hidden = vec![secret.clone(), world.inside.join("later")];
    world.confinement.read_only = vec![config.clone()];
    let sandbox = world.sandbox();
    assert_eq!(sandbox.enforcement().gaps.iter().filter(|gap| gap.contains("later")).count(), 1);
    assert!(!run(&sandbox, &world.inside, "cat .env").ok);
    for number in 0..3 {
        fs::write(world.inside.join("next"), format!("KEY={number}\n")).unwrap();
        fs::rename(world.inside.join("next"), &secret).unwrap();
        fs::remove_file(&config).unwrap();
        fs::write(&config, "b\n").unwrap();
        fs::write(world.inside.join("later"), "KEY\n").unwrap();
        for script in ["cat .env", "echo x > config", "cat later"] {
            let ran = run(&sandbox, &world.inside, script);
            assert!(!ran.ok && ran.out.is_empty(), "{script}: {ran:?}");
        }
        fs::remove_file(world.inside.join("later")).unwrap();
    }
}

#[test]
fn a_hidden_socket_cannot_be_reached() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let path = world.outside.join("agent.sock");
    let listener = UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    world.confinement.hidden = vec![path.clone()];
    let program = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{}')\nprint('connected')",
        path.display()
    );
    let Some(ran) = world.python(&program) else { return };
    assert!(!ran.ok && ran.out.is_empty(), "{ran:?}");
    assert!(listener.accept().is_err());
}

#[test]
fn root_keeps_its_way_with_files_of_others() {
    if !is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let mut world = World::new();
    fs::write(world.inside.join("theirs"), "x\n").unwrap();
    std::os::unix::fs::chown(world.inside.join("theirs"), Some(12345), Some(12345)).unwrap();
    fs::create_dir(world.inside.join("kept")).unwrap();
    for namespaced in [false, true] {
        if namespaced {
            world.confinement.read_only = vec![world.inside.join("kept")];
        }
        let ran = world.sh("chmod 600 theirs && echo y > theirs && stat -c %u theirs");
        assert!(ran.ok, "{ran:?}");
        assert_eq!(ran.out, "12345");
    }
}

#[test]
fn hidden_paths_are_hidden_in_a_root_that_may_be_read() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    world.confinement.read = vec!["/".into()];
    world.confinement.hidden = vec![world.outside.clone()];
    let ran = world.sh(&format!("cat {}/secret", world.outside.display()));
    assert!(!ran.ok && ran.out.is_empty(), "{ran:?}");
    assert!(world.sh("ls / && cat /etc/passwd && echo x > new").ok);
}

#[test]
fn a_writable_tree_that_is_protected_as_a_whole_takes_no_other_cover_away() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    fs::write(world.inside.join(".env"), "KEY=1\n").unwrap();
    fs::create_dir(world.inside.join("kept")).unwrap();
    world.confinement.read.push("/".into());
    world.confinement.write.push(world.outside.clone());
    world.confinement.hidden = vec![world.inside.join(".env")];
    let whole = [vec![world.inside.join("kept"), world.outside.clone()], vec!["/".into()]];
    for read_only in whole {
        world.confinement.read_only = read_only;
        let outside = format!("echo x > {}/new", world.outside.display());
        for script in ["cat .env", "echo x > kept/new", "chmod 777 kept", outside.as_str()] {
            let ran = world.sh(script);
            assert!(!ran.ok && ran.out.is_empty(), "{script}: {ran:?}");
        }
    }
    world.confinement.hidden.push("/".into());
    assert!(hermes_sandbox::Sandbox::prepare(&world.confinement, None).is_err());
}

#[test]
fn a_folder_that_is_open_for_new_names_keeps_what_is_in_it() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let outside = world.outside.clone();
    fs::create_dir_all(outside.join("deep")).unwrap();
    for name in ["precious", "deep/precious", "meant"] {
        fs::write(outside.join(name), "kept\n").unwrap();
    }
    world.confinement.write.push(outside.clone());
    world.confinement.frozen = ["secret", "precious", "deep"].map(|it| outside.join(it)).to_vec();
    let at = outside.display();
    for script in [
        format!("echo x > {at}/precious"),
        format!("echo x > {at}/deep/precious"),
        format!("rm -f {at}/precious"),
        format!("rm -rf {at}/deep"),
        format!("mv {at}/precious {at}/moved"),
        format!("mv {at}/deep {at}/moved"),
        format!("echo x > {at}/other && mv {at}/other {at}/precious"),
        format!("touch {at}/deep/new"),
        format!("chmod 777 {at}/precious"),
    ] {
        let ran = world.sh(&script);
        assert!(!ran.ok, "{script}: {ran:?}");
    }
    for name in ["precious", "deep/precious"] {
        assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), "kept\n");
    }
    fs::write(world.inside.join("a"), "a\n").unwrap();
    let ran = world.sh(&format!(
        "echo new > {at}/new && mkdir {at}/made && cp a {at}/made/b && mv a {at}/a \
         && mv {at}/new {at}/made/ && rm {at}/meant && cat {at}/precious"
    ));
    assert!(ran.ok, "{ran:?}");
    assert!(outside.join("made/new").exists() && outside.join("a").exists());
    assert!(!outside.join("meant").exists() && !world.inside.join("a").exists());
}

#[test]
fn a_file_that_runs_with_the_rights_of_its_owner_cannot_be_made() {
    let world = World::new();
    let program = "import os\nopen('x', 'w')\nf = os.open('x', os.O_RDWR)\n\
         for way in (lambda: os.chmod('x', 0o4755), lambda: os.fchmod(f, 0o4755), \
         lambda: os.open('y', os.O_CREAT | os.O_WRONLY, 0o4755), \
         lambda: os.chmod('x', 0o4755, dir_fd=os.open('.', 0))):\n try:\n  way()\n  print('done')\n \
         except OSError as e:\n  print(e.errno)\nos.chmod('x', 0o755)\nos.mkdir('d')\n\
         os.chmod('d', 0o2775)\nos.chmod('d', 0o1777)";
    let Some(ran) = world.python(program) else { return };
    assert!(ran.ok, "{ran:?}");
    assert_eq!(ran.out, "1\n1\n1\n1", "{ran:?}");
}
