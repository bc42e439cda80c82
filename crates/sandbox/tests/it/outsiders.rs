//! Programs outside of the sandbox and their resources: sockets, terminals and
//! the directories of other children.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use hermes_core::HostService;
use hermes_sandbox::{JOB_VARIABLE, LaunchSpec, ProbeOutcome, ProcessGroup, private_dir, probe};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};

use crate::support::{World, has_namespaces, python};

fn connect(world: &World, socket: &Path) -> Option<String> {
    let program = format!(
        "import socket
try:
    socket.socket(socket.AF_UNIX).connect({:?})
    print('done')
except OSError:
    print('refused')",
        socket.to_str().unwrap()
    );
    world.python(&program).map(|ran| ran.out)
}

#[test]
fn a_socket_of_another_program_cannot_be_reached() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let socket = world.outside.join("docker.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let Some(said) = connect(&world, &socket) else { return };
    assert_eq!(said, "refused");
    // Nor with the network, nor where everything may be written.
    world.confinement.network = hermes_core::NetworkMode::Host;
    world.confinement.write = vec!["/".into()];
    assert_eq!(connect(&world, &socket).unwrap(), "refused");
    world.confinement.services = vec![HostService::Keys];
    assert_eq!(connect(&world, &socket).unwrap(), "refused");
    world.confinement.services = vec![HostService::Containers];
    assert_eq!(connect(&world, &socket).unwrap(), "done");
}

#[test]
fn a_socket_that_is_named_can_be_reached_and_no_other() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let own = world.outside.join("db");
    fs::create_dir(&own).unwrap();
    let (named, other) = (own.join("server.sock"), world.outside.join("other.sock"));
    let _listeners = [&named, &other].map(|path| UnixListener::bind(path).unwrap());
    world.confinement.sockets = vec![own];
    let Some(said) = connect(&world, &named) else { return };
    assert_eq!(said, "done");
    assert_eq!(connect(&world, &other).unwrap(), "refused");
    world.confinement.sockets = vec![other.clone()];
    assert_eq!(connect(&world, &other).unwrap(), "done");
    assert_eq!(connect(&world, &named).unwrap(), "refused");
}

#[test]
fn a_socket_in_the_workspace_can_be_reached() {
    let world = World::new();
    let socket = world.inside.join("door");
    let _listener = UnixListener::bind(&socket).unwrap();
    if let Some(said) = connect(&world, &socket) {
        assert_eq!(said, "done");
    }
}

#[test]
fn a_socket_that_an_earlier_child_has_made_can_be_reached() {
    let mut world = World::new();
    let socket = world.outside.join("server.sock");
    let program = format!(
        "import socket
server = socket.socket(socket.AF_UNIX)
server.bind({:?})
server.listen()
print('ready', flush=True)
input()",
        socket.to_str().unwrap()
    );
    let Some(mut server) = python(&program) else { return };
    server.env(JOB_VARIABLE, "test").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    world.confinement.write = vec![std::env::temp_dir().canonicalize().unwrap()];
    let said = connect(&world, &socket);
    drop(server.stdin.take());
    server.wait().unwrap();
    assert_eq!(said.unwrap(), "done");
}

#[test]
fn a_terminal_of_another_program_cannot_be_opened() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let sandbox = world.sandbox();
    if sandbox.enforcement().gaps.iter().any(|gap| gap.starts_with("terminals")) {
        eprintln!("skipped: {}", sandbox.enforcement());
        return;
    }
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    assert!(Path::new(&name).exists());
    let ran = world.sh(&format!("true < {name} && echo opened; ls /dev/pts"));
    assert_eq!(ran.out, "ptmx", "{ran:?}");
}

#[test]
fn a_child_knows_the_name_of_its_own_terminal() {
    let world = World::new();
    let sandbox = world.sandbox();
    let Some(master) = sandbox.open_terminal() else {
        eprintln!("skipped: {}", sandbox.enforcement());
        return;
    };
    let master = master.unwrap();
    unlockpt(&master).unwrap();
    let slave = rustix::pty::ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY);
    let slave = slave.unwrap();
    let (mut said, stdout) = std::io::pipe().unwrap();
    let mut command = Command::new("/bin/sh");
    command
        .arg("-c")
        .arg("tty; : < /dev/tty && : <> $(tty) && echo controls")
        .current_dir(&world.inside);
    let mut launch = LaunchSpec::from_command(&command).unwrap();
    launch.stdin = Some(slave);
    launch.stdout = Some(stdout.into());
    launch.group = ProcessGroup::NewTerminalSession;
    let mut child = sandbox.launch(&launch).unwrap();
    drop(launch);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut said, &mut text).unwrap();
    child.wait().unwrap();
    assert_eq!(text, "/dev/pts/0\ncontrols\n");
}

#[test]
fn the_folder_of_another_child_cannot_be_seen() {
    if !has_namespaces() {
        return;
    }
    let parent = private_dir().unwrap();
    let others = tempfile::tempdir_in(&parent).unwrap();
    let own = tempfile::tempdir_in(&parent).unwrap();
    for dir in [&others, &own] {
        fs::create_dir(dir.path().join("0")).unwrap();
        fs::write(dir.path().join("0/code"), "print()").unwrap();
    }
    let mut world = World::new();
    world.confinement.write.push(std::env::temp_dir().canonicalize().unwrap());
    let script = format!("ls -AR {0}; echo x >> {0}/a", parent.display());
    assert_eq!(world.sh(&script).out.lines().count(), 1);
    world.confinement.write.push(own.path().join("0"));
    let sandbox = world.sandbox();
    let later = tempfile::tempdir_in(&parent).unwrap();
    let script = format!(
        "echo more >> {0}/0/code && cat {0}/0/code; ls -A {1}; echo x > {2}/a; echo x > {3}/0/code",
        own.path().display(),
        parent.display(),
        later.path().display(),
        others.path().display(),
    );
    let ran = crate::support::run(&sandbox, &world.inside, &script);
    let name = own.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(ran.out, format!("print()more\n{name}"), "{ran:?}");
    assert_eq!(fs::read_to_string(others.path().join("0/code")).unwrap(), "print()");
    assert_eq!(fs::read_to_string(own.path().join("0/code")).unwrap(), "print()more\n");
    assert_eq!(fs::read_dir(later.path()).unwrap().count(), 0);
}

#[test]
fn outsiders_are_probed() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let probes = probe(&world.confinement, &world.inside);
    let about = |what: &str| probes.iter().find(|probe| probe.what.contains(what)).unwrap();
    assert_eq!(about("a socket of another program").got, ProbeOutcome::Blocked);
    about("a terminal of another program");
    for what in [
        "move the directory of a socket",
        "attach shared memory",
        "set a resource limit of the parent",
    ] {
        assert_eq!(about(what).got, ProbeOutcome::Blocked, "{what}");
    }
}

#[test]
fn a_folder_with_a_socket_of_another_program_stays_where_it_is() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    let dir = world.outside.join("mux/user");
    fs::create_dir_all(&dir).unwrap();
    let socket = dir.join("default");
    let _listener = UnixListener::bind(&socket).unwrap();
    world.confinement.write = vec![std::env::temp_dir().canonicalize().unwrap()];
    let outside = world.outside.display();
    for script in [
        "mv mux/user mux/moved",
        "mv mux moved",
        "mv mux/user/default default",
        "ln mux/user/default default",
        "rm mux/user/default",
        "mkdir other && python3 -c \"import ctypes; exit(ctypes.CDLL(None).renameat2(-100, b'mux', -100, b'other', 2))\"",
    ] {
        let ran = world.sh(&format!("cd {outside} && {script}"));
        assert!(!ran.ok, "{script}: {ran:?}");
    }
    let ran = world.sh(&format!("cd {outside} && echo x > mux/a && mv mux/a mux/b && rm mux/b"));
    assert!(ran.ok, "{ran:?}");
    assert!(fs::symlink_metadata(&socket).is_ok());
}

/// A program outside with a System V shared memory segment, which waits.
const SHARER: &str = "
import ctypes
c = ctypes.CDLL(None, use_errno=True)
c.shmat.restype = ctypes.c_void_p
number = c.shmget(0, 4096, 0o600)
ctypes.memmove(c.shmat(number, None, 0), b'canary', 6)
print(number, flush=True)
input()
c.shmctl(number, 0, None)";

#[test]
fn memory_of_another_program_cannot_be_shared_but_own_memory_can() {
    let world = World::new();
    let Some(mut sharer) = python(SHARER) else { return };
    sharer.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut sharer = sharer.spawn().unwrap();
    let mut number = String::new();
    BufReader::new(sharer.stdout.take().unwrap()).read_line(&mut number).unwrap();
    let program = format!(
        "
import ctypes
c = ctypes.CDLL(None, use_errno=True)
c.shmat.restype = ctypes.c_ssize_t
print(c.shmat({0}, None, 0), c.shmctl({0}, 0, None))
own = c.shmget(77, 4096, 0o1600)
print(own >= 0 and c.shmat(own, None, 0) != -1)",
        number.trim()
    );
    let ran = world.python(&program).unwrap();
    drop(sharer.stdin.take());
    sharer.wait().unwrap();
    let own = if has_namespaces() { "True" } else { "False" };
    assert_eq!(ran.out, format!("-1 -1\n{own}"), "{ran:?}");
}

#[test]
fn named_memory_is_the_childs_own() {
    let named = Path::new("/dev/shm").join(format!("hermes-test-{}", std::process::id()));
    if !has_namespaces() || fs::write(&named, "canary").is_err() {
        return;
    }
    let mut world = World::new();
    world.confinement.read = vec!["/".into()];
    let script =
        format!("cat {0}; echo x > {0} && cat {0} && ls /dev/shm | wc -l", named.display());
    let ran = world.sh(&script);
    let left = fs::read_to_string(&named);
    fs::remove_file(&named).unwrap();
    assert_eq!(ran.out, "x\n1", "{ran:?}");
    assert_eq!(left.unwrap(), "canary");
}

#[test]
fn a_socket_in_a_folder_that_was_opened_for_something_new_cannot_be_reached() {
    if !has_namespaces() {
        return;
    }
    let mut world = World::new();
    // In a shared temporary directory, nothing belongs to a child.
    let usual = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if usual.starts_with("/tmp") || usual.starts_with("/var/tmp") {
        return;
    }
    // Nor may it be world-writable.
    let Ok(keep) = tempfile::tempdir_in(usual) else { return };
    let dir = keep.path().canonicalize().unwrap();
    let socket = dir.join("s");
    let _listening = UnixListener::bind(&socket).unwrap();
    world.confinement.write.push(dir);
    let program = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ntry:\n s.connect('{}')\n print('done')\n\
         except OSError as e:\n print(e.errno)",
        socket.display()
    );
    let Some(ran) = world.python(&program) else { return };
    assert_eq!(ran.out, "done", "{ran:?}");
    world.confinement.frozen = vec![socket];
    let ran = world.python(&program).unwrap();
    assert!(ran.ok && ran.out != "done", "{ran:?}");
}
