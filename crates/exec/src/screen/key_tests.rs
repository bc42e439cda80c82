use super::{KeyError, KeyModes, encode_key, encode_keys};

const APPLICATION: KeyModes = KeyModes { application_cursor: true };

fn press(name: &str) -> String {
    let bytes =
        encode_key(name, KeyModes::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    String::from_utf8(bytes).unwrap()
}

#[test]
fn one_key_has_many_spellings() {
    for (spellings, sent) in [
        ("ctrl-c Ctrl+C C-c ^C ^c <C-c> control-c CTRL_C ctrl-shift-c interrupt", "\x03"),
        ("enter Return RET cr <CR> \\n", "\r"),
        ("tab TAB ctrl-i", "\t"),
        ("shift-tab S-Tab backtab BTab", "\x1b[Z"),
        ("esc Escape ^[ ctrl-[ <Esc>", "\x1b"),
        ("alt-x M-x meta+x A-x option-x <M-x>", "\x1bx"),
        ("backspace BSpace ctrl-? ^?", "\x7f"),
        ("up ArrowUp arrow-up up_arrow <Up>", "\x1b[A"),
        ("delete del DC", "\x1b[3~"),
        ("insert ins IC", "\x1b[2~"),
        ("pageup PgUp page_up Page-Up PPage prior", "\x1b[5~"),
        ("pagedown pgdn PgDown NPage", "\x1b[6~"),
        ("ctrl-space ^@ ctrl-@ C-Space", "\0"),
        ("ctrl-d eof ^D", "\x04"),
        ("ctrl-\\ ^\\ ctrl-4", "\x1c"),
        ("ctrl-_ ctrl-/ ctrl-minus ctrl--", "\x1f"),
    ] {
        for spelling in spellings.split(' ') {
            assert_eq!(press(spelling), sent, "{spelling}");
        }
    }
}

#[test]
fn a_single_character_is_itself() {
    for c in ["a", "Z", "0", ":", ",", "-", "+", "^", "<", "ä", "漢", " "] {
        assert_eq!(press(c), c);
    }
    assert_eq!(press("\n"), "\r");
}

#[test]
fn modifiers_are_numbered_as_xterm_does() {
    for (name, sent) in [
        ("shift-left", "\x1b[1;2D"),
        ("alt-left", "\x1b[1;3D"),
        ("ctrl-left", "\x1b[1;5D"),
        ("ctrl+shift+left", "\x1b[1;6D"),
        ("ctrl-alt-shift-left", "\x1b[1;8D"),
        ("ctrl-home", "\x1b[1;5H"),
        ("shift-f1", "\x1b[1;2P"),
        ("f13", "\x1b[1;2P"),
        ("ctrl-f5", "\x1b[15;5~"),
        ("f24", "\x1b[24;2~"),
        ("ctrl-delete", "\x1b[3;5~"),
        ("alt-enter", "\x1b\r"),
        ("alt-backspace", "\x1b\x7f"),
        ("ctrl-backspace", "\x08"),
        ("ctrl-alt-x", "\x1b\x18"),
        ("alt-shift-x", "\x1bX"),
        ("shift-a", "A"),
        ("alt--", "\x1b-"),
        ("alt-+", "\x1b+"),
    ] {
        assert_eq!(press(name), sent, "{name}");
    }
}

#[test]
fn function_keys_are_those_of_xterm() {
    let sent: Vec<String> = (1..=12).map(|n| press(&format!("F{n}"))).collect();
    let numbers = [15, 17, 18, 19, 20, 21, 23, 24].map(|n| format!("\x1b[{n}~"));
    assert_eq!(sent[..4], ["\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS"]);
    assert_eq!(sent[4..], numbers);
}

#[test]
fn application_mode_changes_plain_cursor_keys_only() {
    for (name, sent) in [
        ("up", "\x1bOA"),
        ("home", "\x1bOH"),
        ("end", "\x1bOF"),
        ("ctrl-up", "\x1b[1;5A"),
        ("pageup", "\x1b[5~"),
        ("enter", "\r"),
    ] {
        assert_eq!(encode_key(name, APPLICATION).unwrap(), sent.as_bytes(), "{name}");
    }
}

#[test]
fn a_wrong_name_suggests_the_nearest() {
    for (wrong, right) in [
        ("entr", "enter"),
        ("Retrun", "return"),
        ("backspce", "backspace"),
        ("ctrl-lefft", "ctrl-left"),
        ("pagedwn", "pagedown"),
        ("ctrlc", "ctrl-c"),
        ("shifttab", "shift-tab"),
    ] {
        let error = encode_key(wrong, KeyModes::default()).unwrap_err();
        let KeyError::Name { near, .. } = &error else { panic!("{error:?}") };
        assert_eq!(near.as_deref(), Some(right), "{wrong}");
        assert!(error.to_string().contains(&format!("did you mean {right:?}")), "{error}");
    }
    let error = encode_key("supercalifragilistic", KeyModes::default()).unwrap_err();
    assert!(matches!(error, KeyError::Name { near: None, .. }), "{error:?}");
}

#[test]
fn what_terminals_cannot_send_is_not_sent_as_something_else() {
    for name in ["shift-enter", "ctrl-enter", "ctrl-tab", "ctrl-.", "shift-1", "ctrl-ä"] {
        let error = encode_key(name, KeyModes::default()).unwrap_err();
        assert!(matches!(error, KeyError::NoCode { .. }), "{name}: {error:?}");
    }
}

#[test]
fn a_list_is_separated_by_blanks_or_commas() {
    let list = |text| encode_keys(text, KeyModes::default());
    assert_eq!(list("down down enter").unwrap(), b"\x1b[B\x1b[B\r");
    assert_eq!(list("ctrl-x, ctrl-s").unwrap(), b"\x18\x13");
    assert_eq!(list("esc,:,w,q,\nenter").unwrap(), b"\x1b:wq\r");
    assert_eq!(list(" , ").unwrap(), b",");
    assert_eq!(list("a comma b").unwrap(), b"a,b");
    assert_eq!(list("  "), Err(KeyError::Empty));
    assert!(matches!(list("down dwon"), Err(KeyError::Name { name, .. }) if name == "dwon"));
}

#[test]
fn long_and_strange_names_are_refused_in_few_words() {
    for name in ["x".repeat(100_000), "ctrl-".repeat(10_000), "é\u{301}".into(), "--".into()] {
        let error = encode_key(&name, KeyModes::default()).unwrap_err().to_string();
        assert!(error.len() < 400, "{error}");
    }
}
