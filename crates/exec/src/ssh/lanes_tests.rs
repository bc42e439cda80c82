use std::os::unix::net::UnixListener;

use super::*;

#[test]
fn a_connection_is_wanted_first_and_when_the_others_are_busy() {
    let lanes = Lanes::default();
    let first = lanes.wanted().unwrap().unwrap();
    assert_eq!(lanes.take(), None);
    lanes.add(first.clone());
    for _ in 0..FEW {
        assert_eq!(lanes.wanted().unwrap(), None);
        assert_eq!(lanes.take(), Some(first.clone()));
    }
    let second = lanes.wanted().unwrap().unwrap();
    assert_ne!(first, second);
    lanes.add(second.clone());
    assert_eq!(lanes.take(), Some(second));
}

#[test]
fn one_that_cannot_be_had_is_not_asked_for_again() {
    let lanes = Lanes::default();
    let first = lanes.wanted().unwrap().unwrap();
    lanes.add(first);
    (0..FEW).for_each(|_| drop(lanes.take()));
    lanes.be_content();
    assert_eq!(lanes.wanted().unwrap(), None);
}

#[tokio::test]
async fn one_that_is_gone_is_noticed() {
    let lanes = Lanes::default();
    let socket = lanes.wanted().unwrap().unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    lanes.add(socket);
    assert!(!lanes.is_broken());
    drop(listener);
    assert!(lanes.is_broken());
    assert_eq!(lanes.sweep().await, 1);
    assert!(lanes.is_empty() && !lanes.is_broken());
}

#[tokio::test]
async fn one_that_does_not_greet_is_stuck() {
    let lanes = Lanes::default();
    let [well, stuck] = [(), ()].map(|()| {
        let socket = lanes.wanted().unwrap().unwrap();
        (UnixListener::bind(&socket).unwrap(), socket)
    });
    lanes.add(well.1.clone());
    lanes.add(stuck.1);
    let greeter = std::thread::spawn(move || {
        let (mut caller, _) = well.0.accept().unwrap();
        std::io::Write::write_all(&mut caller, b"hello").unwrap();
        well.0
    });
    assert_eq!(lanes.sweep().await, 1);
    greeter.join().unwrap();
    assert_eq!(lanes.take(), Some(well.1));
}

#[test]
fn the_folder_is_for_nobody_else() {
    let folder = Folder::make().unwrap();
    assert_eq!(std::fs::metadata(folder.at.path()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[cfg(target_os = "linux")]
#[test]
fn those_who_have_connected_are_counted() {
    let folder = Folder::make().unwrap();
    let socket = folder.at.path().join("1");
    let listener = UnixListener::bind(&socket).unwrap();
    let clients: Vec<_> = (0..3).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    let accepted: Vec<_> = (0..3).map(|_| listener.accept().unwrap()).collect();
    assert_eq!(connections(&table(), &socket), 3);
    assert_eq!(connections(&table(), &folder.at.path().join("11")), 0);
    drop((clients, accepted));
}

#[test]
fn what_a_crashed_program_has_left_is_found_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let used = place.path().join("hermes-ssh-used");
    let left = place.path().join("hermes-ssh-left");
    let fresh = place.path().join("hermes-ssh-fresh");
    for folder in [&used, &left, &fresh] {
        std::fs::create_dir(folder).unwrap();
    }
    let owner = File::create(used.join(OWNER)).unwrap();
    owner.lock().unwrap();
    File::create(left.join(OWNER)).unwrap();
    let _listener = UnixListener::bind(left.join("1")).unwrap();
    let mut found = Abandoned::below(place.path());
    let folders: Vec<_> = found.iter().map(|it| &it.folder).collect();
    assert_eq!(folders, [&left]);
    assert_eq!(found[0].sockets(), [left.join("1")]);
    found.remove(0).remove();
    assert!(!left.exists() && used.exists() && fresh.exists());
}
