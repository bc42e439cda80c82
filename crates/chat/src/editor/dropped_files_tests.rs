use super::*;

#[test]
fn paths_are_found_however_they_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    let plain = home.join("a.png");
    let spaced = home.join("my notes (1).txt");
    std::fs::write(&plain, "x").unwrap();
    std::fs::write(&spaced, "x").unwrap();
    let p = plain.to_str().unwrap();
    let s = spaced.to_str().unwrap();
    let found = |paste: &str| dropped_paths(paste, Some(home));
    assert_eq!(found(p), Some(vec![plain.clone()]));
    assert_eq!(found(&format!("{p}\n")), Some(vec![plain.clone()]));
    assert_eq!(found(s), Some(vec![spaced.clone()]));
    assert_eq!(found(&format!("'{s}'")), Some(vec![spaced.clone()]));
    let escaped = s.replace(' ', "\\ ").replace('(', "\\(").replace(')', "\\)");
    assert_eq!(found(&format!("{escaped} {p}")), Some(vec![spaced.clone(), plain.clone()]));
    let address = s.replace(' ', "%20");
    assert_eq!(
        found(&format!("file://{address}\r\nfile://{p}")),
        Some(vec![spaced, plain.clone()])
    );
    assert_eq!(found("~/a.png"), Some(vec![plain]));
}

#[test]
fn text_stays_text() {
    let dir = tempfile::tempdir().unwrap();
    let home = Some(dir.path());
    for paste in [
        "",
        "hello",
        "/no/such/file.png",
        "/",
        "it's",
        "look at /etc/passwd please",
        "https://example.com/a.png",
        "file:///%zz",
        "~/nothing",
    ] {
        assert_eq!(dropped_paths(paste, home), None, "{paste:?}");
    }
}
