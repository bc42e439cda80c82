use super::*;

fn found(glob: &str) -> Vec<String> {
    let all = matched(Path::new(glob), Some(Path::new("/home/user")), false);
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
