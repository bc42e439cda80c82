use std::os::unix::net::UnixListener;
#[cfg(target_os = "linux")]
use std::os::unix::process::ExitStatusExt as _;
#[cfg(target_os = "linux")]
use std::process::{Child, Command, Stdio};

use super::*;

#[test]
fn a_connection_is_wanted_first_and_when_the_others_are_busy() {
    let lanes = ConnectionPool::default();
    let first = lanes.next_socket().unwrap().unwrap();
    assert_eq!(lanes.acquire(), None);
    lanes.add(first.clone());
    for _ in 0..MAX_PROGRAMS_PER_CONNECTION {
        assert_eq!(lanes.next_socket().unwrap(), None);
        assert_eq!(lanes.acquire(), Some(first.clone()));
    }
    let second = lanes.next_socket().unwrap().unwrap();
    assert_ne!(first, second);
    lanes.add(second.clone());
    assert_eq!(lanes.acquire(), Some(second));
}

#[test]
fn one_that_cannot_be_had_is_not_asked_for_again() {
    let lanes = ConnectionPool::default();
    let first = lanes.next_socket().unwrap().unwrap();
    lanes.add(first);
    (0..MAX_PROGRAMS_PER_CONNECTION).for_each(|_| drop(lanes.acquire()));
    lanes.stop_growing();
    assert_eq!(lanes.next_socket().unwrap(), None);
}

#[tokio::test]
async fn one_that_is_gone_is_noticed() {
    let lanes = ConnectionPool::default();
    let socket = lanes.next_socket().unwrap().unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    lanes.add(socket);
    assert!(!lanes.has_dead());
    drop(listener);
    assert!(lanes.has_dead());
    assert_eq!(lanes.remove_dead().await, 1);
    assert!(lanes.is_empty() && !lanes.has_dead());
}

#[tokio::test]
async fn one_that_does_not_greet_is_stuck() {
    let lanes = ConnectionPool::default();
    let [well, stuck] = [(), ()].map(|()| {
        let socket = lanes.next_socket().unwrap().unwrap();
        (UnixListener::bind(&socket).unwrap(), socket)
    });
    lanes.add(well.1.clone());
    lanes.add(stuck.1);
    let greeter = std::thread::spawn(move || {
        let (mut caller, _) = well.0.accept().unwrap();
        std::io::Write::write_all(&mut caller, b"hello").unwrap();
        well.0
    });
    assert_eq!(lanes.remove_dead().await, 1);
    greeter.join().unwrap();
    assert_eq!(lanes.acquire(), Some(well.1));
}

#[test]
fn the_folder_is_for_nobody_else() {
    let dir = SocketDir::create().unwrap();
    assert_eq!(
        std::fs::metadata(dir.directory.path()).unwrap().permissions().mode() & 0o777,
        0o700
    );
}

#[cfg(target_os = "linux")]
#[test]
fn those_who_have_connected_are_counted() {
    let dir = SocketDir::create().unwrap();
    let socket = dir.directory.path().join("1");
    let listener = UnixListener::bind(&socket).unwrap();
    let clients: Vec<_> = (0..3).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let accepted: Vec<_> = (0..3).map(|_| listener.accept().unwrap()).collect();
    assert_eq!(count_connections(&unix_socket_table(), &socket), 3);
    assert_eq!(count_connections(&unix_socket_table(), &dir.directory.path().join("11")), 0);
    drop((clients, accepted));
}

#[test]
fn what_a_crashed_program_has_left_is_found_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let used = place.path().join("hermes-ssh-used");
    let left = place.path().join("hermes-ssh-left");
    let fresh = place.path().join("hermes-ssh-fresh");
    for dir in [&used, &left, &fresh] {
        std::fs::create_dir(dir).unwrap();
    }
    let owner = File::create(used.join(OWNER_FILE)).unwrap();
    owner.lock().unwrap();
    File::create(left.join(OWNER_FILE)).unwrap();
    let _listener = UnixListener::bind(left.join("1")).unwrap();
    let mut found = StaleSocketDir::in_dir(place.path());
    let dirs: Vec<_> = found.iter().map(|it| &it.directory).collect();
    assert_eq!(dirs, [&left]);
    assert_eq!(found[0].sockets(), [left.join("1")]);
    found.remove(0).remove();
    assert!(!left.exists() && used.exists() && fresh.exists());
}

/// Starts a process with the arguments of a master; it ends when its stdin does.
#[cfg(target_os = "linux")]
fn fake_master(socket: &Path) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "read line; exit 0", "ssh", MASTER_OPTION]);
    command.arg(control_path_option(socket)).stdin(Stdio::piped()).spawn().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn killing_the_master_of_socket_1_spares_that_of_socket_10() {
    let dir = SocketDir::create().unwrap();
    let [mut stuck, mut live] =
        ["1", "10"].map(|name| fake_master(&dir.directory.path().join(name)));
    kill_stuck_master(&dir.directory.path().join("1"));
    assert_eq!(stuck.wait().unwrap().signal(), Some(9));
    drop(live.stdin.take());
    assert_eq!(live.wait().unwrap().code(), Some(0));
}
