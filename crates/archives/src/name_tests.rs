use proptest::prelude::*;

use super::*;

fn path(raw: &[u8]) -> Option<PathBuf> {
    SafeName::new(raw).expect("a safe name").map(|name| name.0)
}

#[test]
fn plain_names_become_paths() {
    for (raw, expected) in [
        (&b"a.txt"[..], Some("a.txt")),
        (b"./a//b/./c", Some("a/b/c")),
        (b"dir/", Some("dir")),
        (b"./", None),
        (b"a\\b", Some("a\\b")),
        (b"a:b", Some("a:b")),
        (b"..a/b..", Some("..a/b..")),
        (b"new\nline ", Some("new\nline ")),
    ] {
        assert_eq!(path(raw), expected.map(PathBuf::from), "{raw:?}");
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let deep = "a/".repeat(300);
    let long = "x".repeat(256);
    let many = "abcdefghijklmnopqrstuvw/".repeat(171);
    for raw in [
        "",
        "/etc/passwd",
        "//etc",
        "\\windows",
        "..",
        "../x",
        "a/../../x",
        "a/..",
        "a\\..\\b",
        "..\\x",
        "C:",
        "C:/x",
        "c:\\x",
        "a\0b",
        &deep,
        &long,
        &many,
    ] {
        let refused = SafeName::new(raw.as_bytes()).expect_err(raw);
        assert_eq!(refused.details()["rule"], "unsafe-entry", "{raw:?}");
    }
}

#[test]
fn stripping_may_leave_nothing() {
    let name = SafeName::new(b"a/b/c").expect("safe").expect("not empty");
    assert_eq!(name.strip_components(1).map(|n| n.0), Some(PathBuf::from("b/c")));
    assert_eq!(name.strip_components(3), None);
}

#[test]
fn links_stay_below_the_top() {
    let at = |name: &str, target: &str| {
        let name = SafeName::new(name.as_bytes()).expect("safe").expect("not empty");
        name.check_link_target(target.as_bytes()).is_ok()
    };
    for (name, target) in
        [("l", "a"), ("l", "a/b"), ("d/l", "../a"), ("a/b/l", "../../c"), ("l", ".")]
    {
        assert!(at(name, target), "{name} -> {target}");
    }
    for (name, target) in [
        ("l", ".."),
        ("l", "../a"),
        ("d/l", "../../a"),
        ("l", "/etc"),
        ("l", ""),
        ("l", "a/.."),
        ("d/l", "a/../../.."),
        ("l", "a\0"),
    ] {
        assert!(!at(name, target), "{name} -> {target}");
    }
}

#[test]
fn gits_own_folder_is_seen_in_every_spelling() {
    let git = |raw: &str| SafeName::new(raw.as_bytes()).ok().flatten().and_then(|n| n.git_dir());
    assert_eq!(git("a/.git/hooks/x"), Some(PathBuf::from("a/.git")));
    assert_eq!(git(".GIT/config"), Some(PathBuf::from(".GIT")));
    assert_eq!(git("GIT~1/config"), Some(PathBuf::from("GIT~1")));
    assert_eq!(git(".github/x"), None);
}

proptest! {
    /// Whatever bytes come: a name that is accepted stays below.
    #[test]
    fn accepted_names_stay_below(raw in prop::collection::vec(prop::sample::select(b"./\\:aC\0\xff".to_vec()), 0..12)) {
        if let Ok(Some(name)) = SafeName::new(&raw) {
            prop_assert!(name.as_path().is_relative());
            prop_assert!(name.as_path().components().all(|part| matches!(part, Component::Normal(_))));
        }
    }
}
