use super::*;

#[test]
fn the_table_is_read_as_the_kernel_writes_it() {
    let line = b"00000000f16835f8: 00000002 00000000 00010000 0001 01 14333885 /run/a b.sock";
    let wanted =
        UnixSocketRow { inode: 14_333_885, is_listening: true, path: "/run/a b.sock".into() };
    assert_eq!(parse_row(line), Some(wanted));
    let padded = b"00000000f16835f8: 00000002 00000000 00000000 0002 01    38 /dev/log";
    let wanted = UnixSocketRow { inode: 38, is_listening: false, path: "/dev/log".into() };
    assert_eq!(parse_row(padded), Some(wanted));
    let others: &[&[u8]] = &[
        b"Num       RefCount Protocol Flags    Type St Inode Path",
        b"00000000fce370d0: 00000003 00000000 00000000 0001 03 14769422",
        b"0000000046406e03: 00000003 00000000 00000000 0001 03 14332523 /run/accepted.sock",
        b"00000000cdcf61ec: 00000002 00000000 00010000 0001 01 14333882 @abstract",
        b"00000000cdcf61ec: 00000002 00000000 00000000 0002 01 14333882 relative.sock",
        b"",
    ];
    for line in others {
        assert_eq!(parse_row(line), None, "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn a_service_opens_its_own_sockets_only() {
    let mut confinement = Confinement::default();
    let served = |confinement: &Confinement| {
        let all = [
            "/run/user/7/gnupg/S.gpg-agent",
            "/tmp/ssh-Xy/agent.12",
            "/run/docker.sock",
            "/run/podman/podman.sock",
            "/run/postgresql/.s.PGSQL.5432",
            "/run/mysqld/mysqld.sock",
            "/tmp/tmux-7/default",
            "/run/user/7/bus",
            "/run/nscd/socket",
            "/run/systemd/userdb/io.systemd.DynamicUser",
        ];
        all.into_iter().filter(|path| is_permitted(Path::new(path), confinement)).count()
    };
    assert_eq!(served(&confinement), 1, "names of users");
    for service in [HostService::Keys, HostService::Containers, HostService::Databases] {
        confinement.services = vec![service];
        assert_eq!(served(&confinement), 3, "{service:?}");
    }
    confinement.services = Vec::new();
    confinement.network = hermes_core::NetworkMode::Host;
    assert_eq!(served(&confinement), 2, "and of hosts");
}

#[test]
fn a_program_that_starts_to_listen_later_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let confinement = Confinement::default();
    let (mut sockets, _) = ForeignSockets::scan(&confinement);
    let path = dir.path().canonicalize().unwrap().join("late.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let listed: Vec<_> = read_table().into_iter().filter(|it| it.path == path).collect();
    let [UnixSocketRow { inode, .. }] = listed[..] else { panic!("{listed:?}") };
    assert!(!sockets.has_new(&confinement), "a burst looks once");
    sockets.scanned_at = Instant::now().checked_sub(RESCAN_INTERVAL).unwrap();
    assert!(sockets.has_new(&confinement));
    assert!(sockets.known_inodes.contains(&inode));
    assert!(ForeignSockets::scan(&confinement).1.contains(&path));
}

#[test]
fn a_socket_with_a_relative_name_is_found_where_its_owner_is() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let script = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('near.sock'); \
                  s.listen(); print('ready', flush=True); sys.stdin.read()";
    let owner = std::process::Command::new("python3")
        .args(["-c", script])
        .current_dir(&dir)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut owner) = owner else {
        eprintln!("skipped: no python3");
        return;
    };
    let mut said = [0; 6];
    std::io::Read::read_exact(owner.stdout.as_mut().unwrap(), &mut said).unwrap();
    let (_, paths) = ForeignSockets::scan(&Confinement::default());
    drop(owner.stdin.take());
    owner.wait().unwrap();
    assert!(paths.contains(&dir.join("near.sock")), "{paths:?}");
}
