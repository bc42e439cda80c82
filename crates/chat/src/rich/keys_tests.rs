use proptest::prelude::*;

use super::*;

fn inputs(bytes: &[u8]) -> Vec<TerminalInput> {
    let (mut parser, mut inputs) = (KeyParser::default(), Vec::new());
    parser.push(bytes, &mut inputs);
    parser.flush(&mut inputs);
    inputs
}

fn one(bytes: &[u8]) -> KeyPress {
    match inputs(bytes).as_slice() {
        [TerminalInput::Key(key)] => *key,
        other => panic!("{bytes:?} gave {other:?}"),
    }
}

#[test]
fn keys_of_many_terminals_are_known() {
    let alt = |code| KeyPress { alt: true, ..KeyPress::plain(code) };
    let shift = |code| KeyPress { shift: true, ..KeyPress::plain(code) };
    for (bytes, key) in [
        (&b"a"[..], KeyPress::plain(KeyCode::Char('a'))),
        ("ß".as_bytes(), KeyPress::plain(KeyCode::Char('ß'))),
        ("界".as_bytes(), KeyPress::plain(KeyCode::Char('界'))),
        (b"\r", KeyPress::plain(KeyCode::Enter)),
        (b"\n", KeyPress::ctrl('j')),
        (b"\x03", KeyPress::ctrl('c')),
        (b"\x1f", KeyPress::ctrl('_')),
        (b"\x7f", KeyPress::plain(KeyCode::Backspace)),
        (b"\x1b", KeyPress::plain(KeyCode::Escape)),
        (b"\x1bb", alt(KeyCode::Char('b'))),
        (b"\x1b\r", alt(KeyCode::Enter)),
        (b"\x1b\x7f", alt(KeyCode::Backspace)),
        (b"\x1b[A", KeyPress::plain(KeyCode::Up)),
        (b"\x1bOA", KeyPress::plain(KeyCode::Up)),
        (b"\x1b[1;3D", alt(KeyCode::Left)),
        (b"\x1b[3~", KeyPress::plain(KeyCode::Delete)),
        (b"\x1b[Z", KeyPress::plain(KeyCode::BackTab)),
        (b"\x1b[13;2u", shift(KeyCode::Enter)),
        (b"\x1b[27;2;13~", shift(KeyCode::Enter)),
        (b"\x1b[99;5u", KeyPress::ctrl('c')),
        (b"\x1b[9;2u", KeyPress::plain(KeyCode::BackTab)),
        (b"\x1b[H", KeyPress::plain(KeyCode::Home)),
    ] {
        assert_eq!(one(bytes), key, "{bytes:?}");
    }
}

#[test]
fn what_is_not_known_is_left_out() {
    assert_eq!(inputs(b"\x1b[?1;2c\x1b[I\x1b[57358u\xff\xfea"), inputs(b"a"));
}

#[test]
fn a_paste_is_one_input_whatever_is_in_it() {
    let pasted = "line\nwith \x03 and \x1b[A";
    let bytes = format!("x\x1b[200~{pasted}\x1b[201~y");
    let want = vec![
        TerminalInput::Key(KeyPress::plain(KeyCode::Char('x'))),
        TerminalInput::Paste(pasted.to_owned()),
        TerminalInput::Key(KeyPress::plain(KeyCode::Char('y'))),
    ];
    assert_eq!(inputs(bytes.as_bytes()), want);
    for cut in 0..bytes.len() {
        let (mut parser, mut inputs) = (KeyParser::default(), Vec::new());
        parser.push(&bytes.as_bytes()[..cut], &mut inputs);
        parser.push(&bytes.as_bytes()[cut..], &mut inputs);
        assert_eq!(inputs, want, "cut at {cut}");
        assert!(!parser.is_waiting());
    }
}

#[test]
fn two_pastes_in_a_row_are_two() {
    let found = inputs(b"\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~");
    assert_eq!(found, [TerminalInput::Paste("a".into()), TerminalInput::Paste("b".into())]);
}

#[test]
fn a_paste_without_end_is_given_up() {
    let (mut parser, mut inputs) = (KeyParser::default(), Vec::new());
    parser.push(b"\x1b[200~abc", &mut inputs);
    assert!(parser.is_pasting() && inputs.is_empty());
    parser.flush(&mut inputs);
    assert_eq!(inputs, [TerminalInput::Paste("abc".into())]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_are_read_to_the_end(bytes in proptest::collection::vec(
        prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b';'), Just(b'~')], 0..80))
    {
        let (mut parser, mut inputs) = (KeyParser::default(), Vec::new());
        parser.push(&bytes, &mut inputs);
        for _ in 0..bytes.len() + 1 {
            parser.flush(&mut inputs);
        }
        prop_assert!(!parser.is_waiting());
    }
}
