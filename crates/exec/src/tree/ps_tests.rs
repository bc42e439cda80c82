use super::{list, parse};

#[test]
fn a_line_is_read() {
    let line = "  501   1 501    -1 S+    2048   1:02.50 Mon Nov 16 07:19:47 2026     sleep  60";
    let found = parse(line).unwrap();
    assert_eq!((found.pid, found.parent, found.group, found.foreground), (501, 1, 501, 0));
    assert_eq!((found.state, found.memory, found.ticks), (b'S', 2048 * 1024, 6250));
    assert_eq!(found.name, "sleep 60");
    let later = parse(&line.replace("07:19:47", "07:19:48")).unwrap();
    assert_ne!(found.started, later.started);
}

#[test]
fn other_lines_are_left_out() {
    for line in ["", "PID PPID", "1 2 3", "1 2 3 0 S 1 x:y Mon Nov 16 07:19:47 2026 a"] {
        assert!(parse(line).is_none(), "{line}");
    }
    let days = parse("1 0 1 0 S 1 2-03:04:05 Mon Nov 16 07:19:47 2026 init").unwrap();
    assert_eq!(days.ticks, (2 * 86_400 + 3 * 3600 + 4 * 60 + 5) * 100);
}

#[test]
fn the_systems_own_ps_is_understood() {
    let pid = std::process::id();
    match list(Some(pid)) {
        Ok(found) => assert_eq!(found.first().map(|it| it.pid), Some(pid)),
        Err(error) => println!("skipped: ps does not run here: {error}"),
    }
}
