use super::script_effects;

#[test]
fn every_way_to_run_a_program_is_seen() {
    let scripts = [
        "e",
        "e rm -rf d",
        "1etouch x",
        "$ e touch x",
        "0~1e touch x",
        "1,+2e touch x",
        "/h/I,/x/e touch x",
        "\\,h,e touch x",
        "\\xhx!e touch x",
        "sxhixrm -rf dxe",
        "s/[^]/]i/rm -rf d/e",
        "s/h[]/]*i/rm -rf d/e",
        "s/[[:alpha:]/]*/rm -rf d/e",
        "s,a,b,e",
        "s/a/b/ge",
        "s/a/b/2epw out",
        "s,h\\,,x,;e touch x",
        "y/a/b/;e touch x",
        ":a;e touch x",
        ":a e touch x",
        "l 5;e touch x",
        "F;e touch x",
        "1!{2d};e touch x",
        "{e touch x\n}",
        "s/a/b/ # why\ne touch x",
        "a one\ne touch x",
        "s/h/\\\n/;e touch x",
    ];
    let missed: Vec<_> =
        scripts.iter().filter(|script| script_effects(script).runs.is_none()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn plain_edits_run_nothing() {
    let scripts = [
        "s/a/b/g",
        "s/hello/he said/",
        "s/e/ e /g",
        "s|/usr|/opt|",
        "/^#/d",
        "/error/,/end/p",
        "1,80p",
        "$d",
        "a e foo",
        "i\\\n e foo",
        "s/a/b/;s/c/d/;p",
        "/x/{s/a/e/;p}",
        "y/abc/efg/",
        ":a;N;$!ba;s/\\n/ /g",
        "s/[/e]/x/",
        "r extra",
        "s/a/b/we",
        "10q",
    ];
    let loud: Vec<_> =
        scripts.iter().filter(|script| script_effects(script).runs.is_some()).collect();
    assert!(loud.is_empty(), "{loud:#?}");
}

#[test]
fn files_are_named_in_any_place() {
    let writes = |script| script_effects(script).writes;
    for script in ["w out", "wout", "s/a/b/w out", "s/a/b/gwout", "\\,x,w out", "sxaxbxw out"] {
        assert!(writes(script).contains(&"out"), "{script}: {:?}", writes(script));
    }
    assert_eq!(writes("s/a/b/we").first(), Some(&"e"));
    assert!(writes("s/w out/x/").is_empty());
    assert_eq!(script_effects("/x/r a b").reads.first(), Some(&"a b"));
}
