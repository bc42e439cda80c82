use super::*;

#[test]
fn what_a_call_declares_is_where_it_runs() {
    let at = WorkingDir::new("/w/project", None);
    let cases = [
        (None, "/w/project", "/w/project"),
        (Some("src/a.rs"), "/w/project/src/a.rs", "/w/project"),
        (Some("../other"), "/w/other", "/w/other"),
        (Some("/x/a.py"), "/x/a.py", "/x"),
        (Some(".."), "/w", "/w"),
    ];
    for (path, target, top) in cases {
        assert_eq!(resolve_paths(&at, path), (target.into(), top.into()), "{path:?}");
    }
    let effects = effects(&at, Some("src"), true);
    let shown: Vec<_> = effects.iter().map(ToString::to_string).collect();
    let expected =
        ["code:execute /w/project", "file:read /w/project/src", "file:write /w/project/src"];
    assert_eq!(shown, expected);
}

#[test]
fn differences_keep_to_their_room() {
    let mut changes = FileChanges::default();
    changes.add("same", b"a", b"a");
    changes.add("a.txt", b"one\ntwo\n", b"one\nthree\n");
    assert_eq!(changes.diff, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n");
    let long: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    changes.add("long.txt", b"", long.as_bytes());
    changes.add("b.txt", b"one\n", b"two\n");
    assert_eq!(changes.files.len(), 3);
    assert_eq!(changes.unshown, 1);
    assert!(changes.diff.len() <= MAX_DIFF_BYTES + 100 && changes.diff.ends_with("-one\n+two\n"));
    assert_eq!(changes.files[1].lines_added, 20_000);
}
