//! Sockets.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;

use hermes_core::NetworkMode;
use hermes_sandbox::{NetworkNamespace, Sandbox, process_sockets};

use crate::support::{World, has_namespaces, python};

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
    // Loopback is the child's own.
    let own = ["udp done", "udp6 done", "listen done", "pair done", "names done"];
    let own = if has_namespaces() { &own[..] } else { &own[3..] };
    assert_eq!(done, own, "{ran:?}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err());
}

#[test]
fn the_internet_is_there_with_the_network_on() {
    let mut world = World::new();
    world.confinement.network = NetworkMode::Host;
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
    if world.sandbox().enforcement().landlock < Some(6) {
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

/// A program that serves one word on a port and says when it is ready.
const SERVER: &str = "import socket
server = socket.create_server(('127.0.0.1', 3000))
server.settimeout(20)
print('ready', flush=True)
client, _ = server.accept()
client.sendall(b'hello')
client.close()
";

#[test]
fn children_of_a_space_share_loopback_and_the_host_does_not() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let namespace = Arc::new(NetworkNamespace::create().unwrap());
    let sandbox = Sandbox::prepare(&world.confinement, Some(Arc::clone(&namespace))).unwrap();
    let Some(mut server) = python(SERVER) else { return };
    server.current_dir(&world.inside).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut server = sandbox.spawn(&mut server).unwrap();
    let mut ready = [0; 6];
    server.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();

    let listening = namespace.listening_sockets(server.id());
    let ports: Vec<u16> = listening.iter().map(|it| it.address.port()).collect();
    assert_eq!(ports, [3000]);
    assert!(process_sockets(server.id()).contains(&listening[0].inode));
    assert!(namespace.has_process(server.id()) && !namespace.has_process(std::process::id()));
    assert!(namespace.processes().contains(&server.id()));

    // A sandbox with other bounds, on the same network.
    let mut other = world.confinement.clone();
    other.write.clear();
    let other = Sandbox::prepare(&other, Some(Arc::clone(&namespace))).unwrap();
    let client = "import socket; print(socket.create_connection(('127.0.0.1', 3000)).recv(9))";
    let ran = crate::support::Ran::of(&other, python(client).unwrap().current_dir("/usr"));
    assert_eq!(ran.out, "b'hello'", "{ran:?}");
    server.wait().unwrap();
}

#[test]
fn this_process_reaches_into_a_space_and_listens_there() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let namespace = Arc::new(NetworkNamespace::create().unwrap());
    let listener = namespace.listen(4000).unwrap();
    let sandbox = Sandbox::prepare(&world.confinement, Some(Arc::clone(&namespace))).unwrap();
    let program = "import socket; socket.create_connection(('127.0.0.1', 4000)).sendall(b'out')";
    let Some(mut client) = python(program) else { return };
    let mut client = sandbox.spawn(client.current_dir(&world.inside)).unwrap();
    let mut text = String::new();
    listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
    assert_eq!(text, "out");
    client.wait().unwrap();
    assert!(namespace.connect(4001).is_err());
    namespace.connect(4000).unwrap().write_all(b"x").unwrap();
}

#[test]
fn connections_to_other_hosts_are_redirected() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let namespace = Arc::new(NetworkNamespace::create().unwrap());
    let listener = namespace.listen(0).unwrap();
    let port = listener.local_addr().unwrap().port();
    if let Err(error) = namespace.redirect_to(port) {
        eprintln!("skipped: the kernel cannot redirect ({error})");
        return;
    }
    let (datagrams, _connections) = namespace.resolver_sockets().unwrap();
    let sandbox = Sandbox::prepare(&world.confinement, Some(Arc::clone(&namespace))).unwrap();
    let program = "import socket
kept = socket.create_connection(('203.0.113.7', 443), 20)
kept.sendall(b'tls')
question = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
question.settimeout(20)
question.sendto(b'name', ('192.0.2.53', 53))
print(question.recv(9))
";
    let Some(mut client) = python(program) else { return };
    let mut client = sandbox.spawn(client.current_dir(&world.inside)).unwrap();
    let (mut accepted, peer) = listener.accept().unwrap();
    let original = rustix::net::sockopt::ip_original_dst(&accepted).unwrap();
    assert_eq!(original.to_string(), "203.0.113.7:443");
    assert!(namespace.socket_at(client.id(), peer).is_some());
    let mut word = [0; 3];
    accepted.read_exact(&mut word).unwrap();
    let mut question = [0; 16];
    let (length, from) = datagrams.recv_from(&mut question).unwrap();
    assert_eq!(&question[..length], b"name");
    datagrams.send_to(b"answer", from).unwrap();
    assert!(client.wait().unwrap().success());
}

#[test]
fn a_space_is_found_again_by_one_of_its_processes() {
    if !has_namespaces() {
        return;
    }
    let world = World::new();
    let namespace = Arc::new(NetworkNamespace::create().unwrap());
    let sandbox = Sandbox::prepare(&world.confinement, Some(Arc::clone(&namespace))).unwrap();
    let Some(mut server) = python(SERVER) else { return };
    server.current_dir(&world.inside).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut server = sandbox.spawn(&mut server).unwrap();
    let mut ready = [0; 6];
    server.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let id = namespace.id();
    drop((sandbox, namespace));

    let again = Arc::new(NetworkNamespace::for_process(server.id()).unwrap());
    assert_eq!(again.id(), id);
    let sandbox = Sandbox::prepare(&world.confinement, Some(again)).unwrap();
    let client = "import socket; print(socket.create_connection(('127.0.0.1', 3000)).recv(9))";
    let ran = crate::support::Ran::of(&sandbox, python(client).unwrap().current_dir("/usr"));
    assert_eq!(ran.out, "b'hello'", "{ran:?}");
    server.wait().unwrap();
}
