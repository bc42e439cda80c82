use super::*;

#[test]
fn pages_follow_one_another_to_the_end() {
    let all = ["a", "b", "c", "d", "e"];
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let (part, next) = paginate(&all, |name| name, cursor.as_deref(), 2).expect("a page");
        assert!(part.len() <= 2);
        seen.extend(part);
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(seen, all);
    // The entry in the cursor may no longer exist.
    let (rest, next) = paginate(&all, |name| name, Some("after:bb"), 9).expect("a page");
    assert_eq!((rest.as_slice(), next), (&["c", "d", "e"][..], None));
    let wrong = paginate(&all, |name| name, Some("page 2"), 2).expect_err("a stranger's");
    assert_eq!(wrong.code.0, -32602);
}

#[test]
fn files_are_told_apart_by_their_names() {
    for (path, kind) in [
        ("SKILL.md", "text/markdown"),
        ("references/a.b.MD", "text/markdown"),
        ("assets/dot.png", "image/png"),
        ("scripts/run", "text/plain"),
        ("a.d/run", "text/plain"),
        ("assets/x.bin", "application/octet-stream"),
    ] {
        assert_eq!(media_type(path), kind, "{path}");
    }
}
