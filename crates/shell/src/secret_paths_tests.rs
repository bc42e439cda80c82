use super::*;

fn found(glob: &str) -> Vec<String> {
    let all = matched_secrets(Path::new(glob), Some(Path::new("/home/user")), false);
    all.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

#[test]
fn globs_find_what_is_private() {
    for (glob, wanted) in [
        ("/p/.e*", "/p/.env"),
        ("/p/.?nv", "/p/.env"),
        ("/p/.[d-f]nv.local", "/p/.env.local"),
        ("/p/*_ed25519", "/p/id_ed25519"),
        ("/home/user/.a*/credentials", "/home/user/.aws/credentials"),
        ("/home/*/.netrc", "/home/user/.netrc"),
        ("/home/user/.??h", "/home/user/.ssh"),
        ("/etc/g?hadow", "/etc/gshadow"),
        ("/e*/shadow", "/etc/shadow"),
        ("/proc/*/environ", "/proc/self/environ"),
    ] {
        assert!(found(glob).iter().any(|path| path == wanted), "{glob} {:?}", found(glob));
    }
}

#[test]
fn globs_that_find_nothing_private() {
    for glob in ["/p/*", "/p/*.rs", "/p/src/*/mod.rs", "/home/user/*", "/p/?", "/etc/*.conf"] {
        assert!(found(glob).is_empty(), "{glob} {:?}", found(glob));
    }
}

#[test]
fn a_secret_is_found_wherever_a_command_names_it() {
    for source in [
        "cat .env",
        "cat \"$x\" .e'n'v",
        "x=/home/user/.ssh/\\id_rsa; cat $x",
        "f=prod.id_ed25519",
        "cat /etc/shadow",
        "(shadow)",
        "é;credentials",
        "cat $d/credentials.json",
    ] {
        assert!(mentions_secret(source), "{source}");
    }
    for source in
        ["", "''", "cat .env.example", "shadows", "éshadow", "src/main.rs a_b ~/x", ".e nv"]
    {
        assert!(!mentions_secret(source), "{source}");
    }
}
