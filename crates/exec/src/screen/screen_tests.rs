use proptest::prelude::*;

use super::{PromptKind, TerminalScreen};

fn drawn(bytes: &str) -> TerminalScreen {
    let mut screen = TerminalScreen::new(6, 20);
    screen.feed(bytes.as_bytes());
    screen
}

fn replies(bytes: &str) -> String {
    String::from_utf8(drawn(bytes).take_replies()).unwrap()
}

#[test]
fn text_is_what_a_person_sees() {
    assert_eq!(drawn("").text(), "");
    assert_eq!(drawn("one  \r\n\r\n  two\r\n\r\n").text(), "one\n\n  two");
    assert_eq!(drawn("\r\n\r\nlow").text(), "\n\nlow");
    assert_eq!(drawn("10%\r45%\rdone").text(), "done");
    assert_eq!(drawn("\x1b[31mred\x1b[0m \x1b[1mbold").text(), "red bold");
    assert_eq!(drawn("漢字 e\u{301} 👍").text(), "漢字 e\u{301} 👍");
    assert_eq!(drawn("gone\x1b[2J\x1b[Hhere").text(), "here");
    assert_eq!(drawn("123456789012345678901").text(), "12345678901234567890\n1");
}

#[test]
fn the_default_is_thirty_by_a_hundred_and_twenty() {
    assert_eq!(TerminalScreen::default().size(), (30, 120));
}

#[test]
fn sizes_are_bounded() {
    assert_eq!(TerminalScreen::new(0, 0).size(), (1, 2));
    let mut screen = TerminalScreen::new(u16::MAX, u16::MAX);
    assert_eq!(screen.size(), (500, 500));
    screen.resize(3, 10);
    assert_eq!(screen.size(), (3, 10));
}

#[test]
fn a_smaller_screen_keeps_the_line_of_the_cursor() {
    let mut screen = drawn("a\r\nb\r\nc\r\nd");
    screen.resize(2, 20);
    assert_eq!(screen.text(), "c\nd");
    screen.resize(6, 20);
    assert_eq!(screen.text(), "a\nb\nc\nd");
}

#[test]
fn the_cursor_is_where_the_program_put_it() {
    let screen = drawn("ab\r\ncd");
    let cursor = screen.cursor();
    assert_eq!((cursor.row, cursor.col, cursor.visible), (1, 2, true));
    assert!(!drawn("\x1b[?25l").cursor().visible);
    assert_eq!(drawn(&"x".repeat(20)).cursor().col, 19);
}

#[test]
fn rows_that_scrolled_away_are_kept_within_bounds() {
    let mut screen = TerminalScreen::new(5, 20);
    for n in 0..5000 {
        screen.feed(format!("line {n}\r\n").as_bytes());
    }
    assert_eq!(screen.text(), "line 4996\nline 4997\nline 4998\nline 4999");
    let some = screen.text_with_history(7);
    assert_eq!(some.lines().count(), 11);
    assert!(some.starts_with("line 4989\nline 4990\n"), "{some}");
    assert_eq!(screen.text_with_history(usize::MAX).lines().count(), 1004);
    assert_eq!(screen.text().lines().count(), 4);
}

#[test]
fn only_changes_are_told() {
    let mut screen = TerminalScreen::new(6, 20);
    assert_eq!(screen.text_if_changed(), None);
    screen.feed(b"one");
    assert_eq!(screen.text_if_changed().as_deref(), Some("one"));
    assert_eq!(screen.text_if_changed(), None);
    screen.feed(b"\x1b[31m");
    assert_eq!(screen.text_if_changed(), None);
    screen.feed(b"\x1b[H");
    assert_eq!(screen.text_if_changed().as_deref(), Some("one"));
    screen.feed(b"two");
    assert_eq!(screen.text_if_changed().as_deref(), Some("two"));
}

#[test]
fn titles_are_known_and_harmless() {
    assert_eq!(drawn("\x1b]0;vim a.txt\x07text").title(), "vim a.txt");
    assert_eq!(drawn("\x1b]2;a;b ä\x1b\\").title(), "a;b ä");
    assert_eq!(drawn("\x1b]2;a\nb\x07").title(), "ab");
    assert_eq!(drawn("\x1b]1;icon\x07").title(), "");
    let long = drawn(&format!("\x1b]2;{}\x07after", "x".repeat(100_000)));
    assert_eq!(long.title().len(), 256);
    assert_eq!(long.text(), "after");
}

#[test]
fn a_screen_of_its_own_leaves_the_other_as_it_was() {
    for (enter, leave) in [("1049h", "1049l"), ("47h", "47l"), ("1047h", "1047l")] {
        let mut screen = drawn("shell");
        screen.feed(format!("\x1b[?{enter}\x1b[H\x1b[2Jvim").as_bytes());
        assert!(screen.is_alternate());
        assert_eq!(screen.text(), "vim");
        screen.feed(format!("\x1b[?{leave}").as_bytes());
        assert!(!screen.is_alternate());
        assert_eq!(screen.text(), "shell");
    }
}

#[test]
fn what_the_library_leaves_out_is_done() {
    assert_eq!(drawn("ab\x1b[s\x1b[3;3Hx\x1b[uc").text(), "abc\n\n  x");
    assert_eq!(drawn("ab\x1bDc\x1bEd").text(), "ab\n  c\nd");
    assert_eq!(drawn("ab\x1b[3ac\x1b[ed").text(), "ab   c\n      d");
    assert_eq!(drawn("\x1b[Ia\x1b[Zb").text(), "        b");
    assert_eq!(drawn("0123456789\x1b[Z-\x1b[2Z+").text(), "+1234567-9");
    assert_eq!(drawn("\x1b(0lqk\x1b(B q").text(), "┌─┐ q");
    assert_eq!(drawn("\x1b)0\x0ex\x0fx").text(), "│x");
    assert_eq!(drawn("\x1b(0\x1bcq").text(), "q");
}

#[test]
fn repeating_stays_in_its_line() {
    assert_eq!(drawn("ab\x1b[3b|").text(), "abbbb|");
    assert_eq!(drawn("x\x1b[65535b").text(), "x".repeat(20));
    assert_eq!(drawn("x\x1b[99999999999b").cursor().row, 0);
}

#[test]
fn questions_to_the_terminal_are_answered_where_they_are_asked() {
    assert_eq!(replies("ab\r\nc\x1b[6nmore"), "\x1b[2;2R");
    assert_eq!(replies("\x1b[?6n"), "\x1b[?1;1R");
    assert_eq!(replies("\x1b[5n"), "\x1b[0n");
    for attributes in ["\x1b[c", "\x1b[0c", "\x1bZ"] {
        assert_eq!(replies(attributes), "\x1b[?62;22c");
    }
    assert_eq!(replies("\x1b[>c"), "\x1b[>1;10;0c");
    assert_eq!(replies("\x1b[18t"), "\x1b[8;6;20t");
    assert_eq!(replies("\x1b[14t"), "\x1b[4;96;160t");
    assert_eq!(replies("\x1b[?2004$p\x1b[?2004h\x1b[?2004$p"), "\x1b[?2004;2$y\x1b[?2004;1$y");
    assert_eq!(replies("\x1b[?31337$p"), "\x1b[?31337;0$y");
    assert!(replies("\x1b[>q").starts_with("\x1bP>|hermes "));
    assert_eq!(replies("\x1bP$qm\x1b\\"), "\x1bP0$r\x1b\\");
    assert_eq!(replies("\x1bP+q544e\x1b\\"), "\x1bP0+r\x1b\\");
}

#[test]
fn colours_are_told_with_the_end_that_the_question_had() {
    assert_eq!(replies("\x1b]11;?\x07"), "\x1b]11;rgb:0000/0000/0000\x07");
    assert_eq!(replies("\x1b]10;?\x1b\\"), "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\");
    let both = "\x1b]10;rgb:e5e5/e5e5/e5e5\x07\x1b]11;rgb:0000/0000/0000\x07";
    assert_eq!(replies("\x1b]10;?;?\x07"), both);
    assert_eq!(replies("\x1b]4;1;?\x07"), "\x1b]4;1;rgb:cdcd/0000/0000\x07");
    assert_eq!(replies("\x1b]4;196;?\x07"), "\x1b]4;196;rgb:ffff/0000/0000\x07");
    assert_eq!(replies("\x1b]4;255;?\x07"), "\x1b]4;255;rgb:eeee/eeee/eeee\x07");
    assert_eq!(replies("\x1b]4;256;?\x07\x1b]11;#fff\x07"), "");
}

#[test]
fn no_answer_carries_what_the_program_said() {
    assert_eq!(replies("\x1b]2;rm -rf ~\x07\x1b[21t"), "\x1b]l\x1b\\");
    assert_eq!(replies("\x1b]52;c;cm0gLXJm\x07\x1b]52;c;?\x07"), "\x1b]52;c;\x07");
}

#[test]
fn replies_are_handed_out_once_and_do_not_pile_up() {
    let mut screen = drawn("\x1b[6n");
    assert_eq!(screen.take_replies(), b"\x1b[1;1R");
    assert!(screen.take_replies().is_empty());
    screen.feed("\x1b[6n".repeat(100_000).as_bytes());
    let waiting = screen.take_replies();
    assert!(waiting.len() <= 4096 && waiting.ends_with(b"R"));
    screen.feed(b"\x1b[5n");
    assert_eq!(screen.take_replies(), b"\x1b[0n");
}

#[test]
fn a_paste_is_marked_if_the_program_wants_that() {
    assert_eq!(drawn("").paste("a\nb"), b"a\nb");
    let screen = drawn("\x1b[?2004h");
    assert_eq!(screen.paste("a\nb"), b"\x1b[200~a\nb\x1b[201~");
    assert_eq!(screen.paste("x\x1b[2\x1b01~y"), b"\x1b[200~x[201~y\x1b[201~");
}

#[test]
fn the_modes_of_keys_follow_the_program() {
    assert!(!drawn("").modes().application_cursor);
    assert!(drawn("\x1b[?1h").modes().application_cursor);
    assert!(!drawn("\x1b[?1h\x1b[?1l").modes().application_cursor);
}

#[test]
fn a_question_is_before_the_cursor() {
    let kind = |bytes: &str| drawn(bytes).detect_prompt().map(|prompt| prompt.kind);
    assert_eq!(kind("Password: "), Some(PromptKind::Password));
    assert_eq!(kind("> "), Some(PromptKind::Interpreter));
    assert_eq!(kind(">"), None);
    assert_eq!(kind("Password: \r\n"), None);
    assert_eq!(kind("Password: \r"), None);
    assert_eq!(kind("Password: \x1b[Hx"), None);
    assert_eq!(kind("Continue? [y/N]\r\n"), Some(PromptKind::Confirmation));
    assert_eq!(kind("\x1b[?1049h\x1b[6;1H\x1b[7ma.txt\x1b[m\x1b[K"), Some(PromptKind::Pager));
    assert_eq!(kind("\x1b[?1049h\x1b[6;1Ha.txt"), None);
    // It may be longer than the screen is wide.
    let prompt = drawn("out\r\nEnter passphrase for key 'id': ").detect_prompt().unwrap();
    assert_eq!(prompt.line, "Enter passphrase for key 'id':");
}

#[test]
fn strings_without_an_end_take_no_memory_and_draw_nothing() {
    for start in ["\x1b]0;", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b["] {
        let mut screen = drawn("before ");
        screen.feed(start.as_bytes());
        for _ in 0..100 {
            screen.feed(&[b'1'; 10_000]);
        }
        assert!(screen.parser.pending.capacity() <= 4096, "{start:?}");
        screen.feed(b"\x18after");
        assert_eq!(screen.text(), "before after", "{start:?}");
    }
}

#[test]
fn a_stumble_of_the_library_costs_the_picture_only() {
    let mut screen = drawn("\x1b]2;title\x07lost\x1b[6n");
    screen.drawing.catch_panic(|_| panic!("on purpose"));
    assert_eq!((screen.text().as_str(), screen.size()), ("", (6, 20)));
    assert_eq!(screen.title(), "title");
    screen.feed(b"found");
    assert_eq!(screen.text(), "found");
    assert_eq!(screen.take_replies(), b"\x1b[1;5R");
}

#[test]
fn colourful_characters_are_as_wide_as_programs_count() {
    let heart = "\u{2764}\u{fe0f}";
    assert_eq!(drawn(&format!("{heart}x")).cursor().col, 2);
    // In the last column of the last row the library would lose its way.
    let mut screen = drawn(&format!("\x1b[6;20H{heart}\x1b[5;20Hx"));
    screen.feed(b"\x1b[6;20Hy");
    assert_eq!(screen.drawing.restarts, 0);
    let mut cut = TerminalScreen::new(6, 20);
    for byte in heart.bytes().chain(*b"!") {
        cut.feed(&[byte]);
    }
    assert_eq!(cut.text(), "\u{2764}!");
}

#[test]
fn characters_may_be_cut() {
    let text = "é é 漢 👍 é";
    for at in 0..text.len() {
        let mut screen = TerminalScreen::new(6, 20);
        let (head, tail) = text.as_bytes().split_at(at);
        screen.feed(head);
        screen.feed(tail);
        assert_eq!(screen.text(), text, "cut at {at}");
    }
    let mut screen = TerminalScreen::new(6, 20);
    screen.feed(b"a\xe6\xbc\x1b[mb\xff\xc3(c\xe9");
    screen.feed(b"d");
    assert_eq!(screen.text(), "ab(cd");
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![
        Just(String::new()),
        (0u16..40).prop_map(|n| n.to_string()),
        Just("65535".into())
    ];
    let last = proptest::sample::select(b"@ABCDEFGHIJKLMPSTXZ`abcdefghlmnpqrstux".to_vec());
    let mark = proptest::sample::select(vec!["", "?", ">", "="]);
    let control = (mark, number.clone(), number, last).prop_map(|(mark, a, b, last)| {
        format!("\x1b[{mark}{a};{b}{}", char::from(last)).into_bytes()
    });
    let modes =
        proptest::sample::select(vec!["1", "6", "25", "47", "1047", "1048", "1049", "2004"]);
    let mode = (modes, any::<bool>())
        .prop_map(|(mode, on)| format!("\x1b[?{mode}{}", if on { 'h' } else { 'l' }).into_bytes());
    let escapes = proptest::sample::select(vec![
        "\x1b7",
        "\x1b8",
        "\x1bM",
        "\x1bD",
        "\x1bE",
        "\x1bc",
        "\x1b(0",
        "\x1b(B",
        "\x1b]2;t\x07",
        "\x1b]11;?\x1b\\",
        "\x1bP$qm\x1b\\",
        "\r",
        "\n",
        "\t",
        "\x08",
        "\x0e",
        "\x0f",
        "\x18",
    ]);
    let words = proptest::sample::select(vec![
        "a",
        "text",
        "漢",
        "e\u{301}",
        "❤\u{fe0f}",
        "\u{200d}",
        "👩‍🚀",
        "\u{17d8}",
    ]);
    prop_oneof![
        4 => control,
        2 => mode,
        3 => escapes.prop_map(|text| text.as_bytes().to_vec()),
        4 => words.prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 1..8),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_bytes_never_break_it(
        pieces in proptest::collection::vec(piece(), 0..60),
        sizes in proptest::collection::vec((0u16..12, 0u16..24), 1..4),
    ) {
        let mut screen = TerminalScreen::new(4, 10);
        for part in pieces.chunks(pieces.len() / sizes.len() + 1).zip(sizes.iter().cycle()) {
            let (pieces, (rows, cols)) = part;
            screen.feed(&pieces.concat());
            screen.resize(*rows, *cols);
            let (rows, cols) = screen.size();
            let cursor = screen.cursor();
            prop_assert!(cursor.row < rows && cursor.col < cols);
            prop_assert!(screen.text().lines().count() <= usize::from(rows));
            let _ = (screen.detect_prompt(), screen.text_with_history(50), screen.text_if_changed());
        }
        // The guard is for what nobody has thought of.
        prop_assert_eq!(screen.drawing.restarts, 0);
    }

    #[test]
    fn it_does_not_matter_how_bytes_are_cut(
        pieces in proptest::collection::vec(piece(), 0..30),
        cuts in proptest::collection::vec(1usize..9, 1..20),
    ) {
        let bytes = pieces.concat();
        let mut whole = TerminalScreen::new(5, 12);
        whole.feed(&bytes);
        let mut cut = TerminalScreen::new(5, 12);
        let mut rest = bytes.as_slice();
        for size in cuts.iter().cycle() {
            let (head, tail) = rest.split_at(rest.len().min(*size));
            cut.feed(head);
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(whole.text(), cut.text());
        prop_assert_eq!(whole.cursor(), cut.cursor());
        prop_assert_eq!(whole.take_replies(), cut.take_replies());
        prop_assert_eq!(whole.title(), cut.title());
    }
}
