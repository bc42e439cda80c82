//! Sockets.

use std::net::TcpListener;

use crate::support::World;

const TRY: &str = "import socket, sys
def attempt(name, way):
    try:
        way()
        print(name, 'done')
    except OSError as e:
        print(name, 'refused')
";

fn program(port: u16) -> String {
    format!(
        "{TRY}
attempt('tcp', lambda: socket.create_connection(('127.0.0.1', {port}), 5))
attempt('udp', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
attempt('udp6', lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
attempt('listen', lambda: socket.create_server(('127.0.0.1', 0)))
attempt('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt('vsock', lambda: socket.socket(40, socket.SOCK_STREAM))
attempt('alg', lambda: socket.socket(38, socket.SOCK_SEQPACKET))
attempt('audit', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9))
attempt('pair', lambda: socket.socketpair())
attempt('names', lambda: socket.if_nameindex())
"
    )
}

#[test]
fn nothing_leaves_with_the_network_off() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(ran) = world.python(&program(listener.local_addr().unwrap().port())) else { return };
    assert!(ran.ok, "{ran:?}");
    let done: Vec<_> = ran.out.lines().filter(|line| line.ends_with("done")).collect();
    assert_eq!(done, ["pair done", "names done"], "{ran:?}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}

#[test]
fn the_internet_is_there_with_the_network_on() {
    let mut world = World::new();
    world.confinement.network = true;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Some(ran) = world.python(&program(listener.local_addr().unwrap().port())) else { return };
    let done: Vec<_> = ran.out.lines().filter(|line| line.ends_with("done")).collect();
    for wanted in ["tcp done", "udp done", "listen done", "pair done", "names done"] {
        assert!(done.contains(&wanted), "{wanted}: {ran:?}");
    }
    for unwanted in ["raw done", "packet done", "vsock done", "alg done", "audit done"] {
        assert!(!done.contains(&unwanted), "{unwanted}: {ran:?}");
    }
    assert!(listener.accept().is_ok());
}

#[test]
fn abstract_sockets_of_others_cannot_be_reached() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let world = World::new();
    if world.sandbox().held().landlock < Some(6) {
        eprintln!("skipped: Landlock ABI 6 is needed");
        return;
    }
    let name = format!("hermes-sandbox-{}", std::process::id());
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let program = format!(
        "{TRY}
attempt('theirs', lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}'))
own = socket.socket(socket.AF_UNIX); own.bind('\\0{name}-own'); own.listen()
attempt('own', lambda: socket.socket(socket.AF_UNIX).connect('\\0{name}-own'))
"
    );
    let Some(ran) = world.python(&program) else { return };
    assert_eq!(ran.out, "theirs refused\nown done", "{ran:?}");
}
