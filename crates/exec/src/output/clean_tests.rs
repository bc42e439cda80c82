use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;

fn check(input: &str, expected: &str) {
    assert_eq!(clean(input.as_bytes()), expected, "{input:?}");
}

#[test]
fn plain_text_stays() {
    check("", "");
    check("one\ntwo\n\n\tthree", "one\ntwo\n\n\tthree");
    check("grüße 日本語 🦀\n", "grüße 日本語 🦀\n");
    check("trailing blanks stay  \n", "trailing blanks stay  \n");
}

#[test]
fn colours_and_other_orders_go() {
    check("\x1b[1;31merror\x1b[0m: no\n", "error: no\n");
    check("\x1b[38:2:1:2:3mx\x1b[m", "x");
    check("\x1b[?25l\x1b[?2004hx\x1b[>4;1m\x1b(B\x1b)0\x1b=\x1b7\x1b8", "x");
    check("\x1b]0;title\x07a\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\", "alink");
    check("\x1bP1$r0m\x1b\\a\x1b_Gf=100;AAAA\x1b\\b\x1b^pm\x1b\\c", "abc");
    check("\x1b[31\x18x\x1b[31\x1ay", "xy");
}

#[test]
fn eight_bit_control_sequences_are_removed() {
    check("\u{9b}1;31merror\u{9b}0m: no\n", "error: no\n");
    check("a\u{9b}?25lb\u{9b}Kc\n", "abc\n");
    check("old\u{9b}2Knew\n", "   new\n");
    check("\u{9b}31\nnext", "\nnext");
    check("\u{9b}1é\u{9b}\u{9b}2mx\u{85}y", "éxy");
    check("a\u{9b}3", "a");
    assert_eq!(clean(b"\xc2\x9b31\xffm"), "\u{FFFD}m");
}

#[test]
fn an_order_ends_with_its_line() {
    check("\x1b]0;never closed\nnext\n", "\nnext\n");
    check("\x1bPnever closed\nnext\n", "\nnext\n");
    check("\x1b[12\nnext", "\nnext");
    check("a\x1b", "a");
    check("a\x1b[3", "a");
    check("a\x1b]0;tit", "a");
}

#[test]
fn text_is_never_part_of_an_order() {
    check("\x1bé", "é");
    check("\x1b[1é", "é");
    check("old\x1b[1\rnew", "new");
}

#[test]
fn floods_of_one_control_character_are_like_one() {
    let flood = |byte: &str| byte.repeat(100_000);
    check(&format!("a{}b", flood("\0")), "ab");
    check(&format!("old{}new\n", flood("\r")), "new\n");
    check(&format!("abc{}x", flood("\x08")), "xbc");
    check(&format!("abc{}x", flood("\x1b")), "abc");
    check(&format!("a{}b", flood("\x01\x02")), "ab");
}

#[test]
fn carriage_returns_write_over() {
    check("a\r\nb\r\r\n", "a\nb\n");
    check("10%\r50%\r100%\n", "100%\n");
    check("Downloading\rDone\n", "Doneloading\n");
    check("50%\r", "50%");
    check("\rx", "x");
    check("abc\rx\x1b[K\n", "x\n");
    check("abc\r\x1b[Kx\ty \n", "x\ty \n");
    check("abc\x1b[2K\rx\n", "x\n");
    check("long text\r         \rshort\n", "short\n");
    check("a\tb\rXY\n", "XY      b\n");
}

#[test]
fn backspaces_are_applied() {
    check("N\x08NA\x08AM\x08ME\x08E\n", "NAME\n");
    check("_\x08f_\x08i_\x08l_\x08e\n", "file\n");
    check("|\x08/\x08-\x08\\\x08done\n", "done\n");
    check("abc\x08\x08\x08\x08\x08xy\n", "xyc\n");
    check("\x08\x08x", "x");
    check("日\x08\x08本\n", "本\n");
}

#[test]
fn half_a_wide_character_is_a_blank() {
    check("日本\rx\n", "x 本\n");
    check("日本\r\x1b[Cx\n", " x本\n");
    check("日本\r\x1b[1K\n", "  本\n");
    check("日本\r\x1b[X\n", "  本\n");
    check("日本\r\x1b[P\n", " 本\n");
    check("日本\x08\x1b[K|\n", "日 |\n");
}

#[test]
fn a_form_feed_parts_words() {
    check("a\x0bb\x0cc", "a b c");
    check("a\x0b\x0c\x0cb\n\x0cc\n", "a b\n c\n");
}

#[test]
fn other_controls_are_dropped() {
    check("a\0b\x07c\x7ff\u{85}g\u{9b}31mh", "abcfgh");
    check("\u{a0}\u{c2}é", "\u{a0}\u{c2}é");
}

#[test]
fn what_is_not_utf8_is_replaced() {
    assert_eq!(clean(b"a\xFFb\xE2\x82c\xE2\x82"), "a\u{FFFD}b\u{FFFD}c\u{FFFD}");
    assert_eq!(clean(b"\xE2\x1b[1m\x82\n\xC3\n"), "\u{FFFD}\u{FFFD}\n\u{FFFD}\n");
    assert_eq!(clean(b"\xED\xA0\x80"), "\u{FFFD}\u{FFFD}\u{FFFD}");
}

#[test]
fn progress_of_cargo() {
    let output = "\x1b[1m\x1b[92m   Compiling\x1b[0m words v0.1.0 (/src/words)\r\n\
        \x1b[1m\x1b[96m    Building\x1b[0m [========================>  ] 34/36: words    \r\
        \x1b[1m\x1b[96m    Building\x1b[0m [=========================> ] 35/36: cl(example)       \r\
        \x1b[K\x1b[1m\x1b[92m    Finished\x1b[0m `release` profile [optimized] target(s) in 2.33s\r\n";
    check(
        output,
        "   Compiling words v0.1.0 (/src/words)\n    \
         Finished `release` profile [optimized] target(s) in 2.33s\n",
    );
}

#[test]
fn progress_of_npm() {
    let output = "\x1b[1mnpm\x1b[22m \x1b[33mwarn\x1b[39m \x1b[94mUnknown user config\x1b[39m\r\n\
        ⠙\x1b[1G\x1b[0K⠹\x1b[1G\x1b[0K\r\nadded 1 package in 874ms\r\n⠹\x1b[1G\x1b[0K";
    check(output, "npm warn Unknown user config\n\nadded 1 package in 874ms\n");
}

#[test]
fn progress_of_curl() {
    let output = "Dload  Upload   Total   Spent    Left  Speed\r\n\
        \r  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0\
        \r 35 28.6M   35 10.1M    0     0  20.0M      0  0:00:01 --:--:--  0:00:01 19.9M\
        \r100 28.6M  100 28.6M    0     0  25.0M      0  0:00:01  0:00:01 --:--:-- 25.0M\r\n";
    check(
        output,
        "Dload  Upload   Total   Spent    Left  Speed\n\
         100 28.6M  100 28.6M    0     0  25.0M      0  0:00:01  0:00:01 --:--:-- 25.0M\n",
    );
}

#[test]
fn progress_of_pip() {
    let output = "Downloading numpy-2.0.whl (19.5 MB)\n\
        \x1b[?25l   \x1b[38;5;237m━━━━━━━━━━\x1b[0m \x1b[32m0.0/19.5 MB\x1b[0m \x1b[31m?\x1b[0m\
        \r\x1b[2K   \x1b[38;2;249;38;114m━━━━━\x1b[0m\x1b[38;5;237m━━━━━\x1b[0m \x1b[32m9.1/19.5 MB\x1b[0m\
        \r\x1b[2K   \x1b[38;2;114;156;31m━━━━━━━━━━\x1b[0m \x1b[32m19.5/19.5 MB\x1b[0m \x1b[31m55 MB/s\x1b[0m\n\
        \x1b[?25hInstalling collected packages: numpy\n";
    check(
        output,
        "Downloading numpy-2.0.whl (19.5 MB)\n   ━━━━━━━━━━ 19.5/19.5 MB 55 MB/s\n\
         Installing collected packages: numpy\n",
    );
}

#[test]
fn progress_of_wget() {
    let output = "Saving to: ‘/dev/null’\r\n\r\n\
        \r/dev/null             0%[                    ]       0  --.-KB/s               \
        \r/dev/null           100%[===================>]  28.61M  --.-KB/s    in 0.04s   \r\n\r\n\
        (747 MB/s) - ‘/dev/null’ saved [30000000/30000000]\r\n\r\n";
    check(
        output,
        "Saving to: ‘/dev/null’\n\n\
         /dev/null           100%[===================>]  28.61M  --.-KB/s    in 0.04s\n\n\
         (747 MB/s) - ‘/dev/null’ saved [30000000/30000000]\n\n",
    );
}

#[test]
fn progress_of_tqdm() {
    let output = "\r  0%|          | 0/10 [00:00<?, ?it/s]\
        \r 50%|█████     | 5/10 [00:00<00:00, 49.80it/s]\
        \r100%|██████████| 10/10 [00:00<00:00, 49.9it/s]\n";
    check(output, "100%|██████████| 10/10 [00:00<00:00, 49.9it/s]\n");
}

#[test]
fn an_endless_line_is_given_out() {
    let mut cleaner = OutputCleaner::new();
    let mut given = 0;
    for _ in 0..100 {
        given += cleaner.feed(&[b'x'; 10_000]).len();
        assert!(cleaner.unfinished().len() <= 16 * 1024);
    }
    assert_eq!(given + cleaner.finish().len(), 1_000_000);
}

#[test]
fn orders_in_a_long_line_cost_no_more_than_they_should() {
    let long = "x".repeat(16_000);
    for order in ["\x1b[1K", "\x1b[P", "\x1b[@", "\x1b[99X", "\x1b[2Ky", "\x1b[999Gy\x1b[K", "\ry"]
    {
        let input = long.clone() + &order.repeat(20_000);
        assert!(clean(input.as_bytes()).len() <= 2 * long.len() + 20_000, "{order:?}");
    }
}

#[test]
fn a_line_far_to_the_right_is_not_blown_up() {
    let input = "\x1b[4000000000Gx\x1b[4000000000Cy\n".repeat(100);
    assert!(clean(input.as_bytes()).len() < 100 * 200);
}

#[test]
fn the_unfinished_line_can_be_seen_and_taken() {
    let mut cleaner = OutputCleaner::new();
    assert_eq!(cleaner.feed(b"done\n10%"), "done\n");
    assert_eq!(cleaner.unfinished(), "10%");
    assert_eq!(cleaner.feed(b"\r20%"), "");
    assert_eq!(cleaner.unfinished(), "20%");
    assert_eq!(cleaner.flush(), "20%");
    assert_eq!(cleaner.unfinished(), "");
    assert_eq!(cleaner.feed(b"\r30%\nPassword: \xC3"), "30%\n");
    assert_eq!(cleaner.flush(), "Password: ");
    assert_eq!(cleaner.feed(b"\xA9\n"), "é\n");
    assert_eq!(cleaner.finish(), "");
}

/// Pieces of output that mean something to a terminal.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let fixed = [
        "\r",
        "\n",
        "\r\n",
        "\x08",
        "\t",
        "\x1b",
        "\x1b[",
        "\x1b[K",
        "\x1b[1K",
        "\x1b[2K",
        "\x1b[3D",
        "\x1b[2C",
        "\x1b[5G",
        "\x1b[P",
        "\x1b[2X",
        "\x1b[@",
        "\x1b]0;t\x07",
        "\x1b]8;;u\x1b\\",
        "\x1bPq",
        "\x1b[31m",
        "\x07",
        "\x0c",
        "\x0c",
        "\x18",
        "é",
        "日本",
        "e\u{301}",
        "🦀",
        "\u{9b}",
        "abc",
        " ",
        "0",
    ];
    let long = (1000_usize..20_000).prop_map(|len| vec![b'y'; len]);
    let piece = prop_oneof![
        20 => prop::sample::select(fixed.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        4 => prop::collection::vec(any::<u8>(), 0..6),
        1 => long,
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Orders and text that a terminal of one line shows as we do. Terminals do
/// not agree on what becomes of half a wide character when text is put in.
fn line_pieces() -> impl Strategy<Value = String> {
    let mut all = vec![
        "\r", "\x08", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[3D", "\x1b[2C", "\x1b[5G", "\x1b[2P",
        "\x1b[2X", "\x1b[31m", "abc", "xy", " ", "e\u{301}", "é", "\t",
    ];
    let narrow = [&all[..], &["\x1b[2@"]].concat();
    all.push("日");
    let pieces = |set| prop::collection::vec(prop::sample::select(set), 0..30);
    prop_oneof![pieces(narrow), pieces(all)].prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn every_division_gives_the_same(bytes in pieces(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut cleaner = OutputCleaner::new();
        let mut text = String::new();
        let mut from = 0;
        for cut in cuts {
            text += &cleaner.feed(&bytes[from..cut]);
            from = cut;
        }
        text += &cleaner.feed(&bytes[from..]);
        text += &cleaner.finish();
        prop_assert_eq!(text, clean(&bytes));
    }

    #[test]
    fn byte_by_byte_gives_the_same(bytes in pieces()) {
        let mut cleaner = OutputCleaner::new();
        let mut text: String = bytes.chunks(1).map(|byte| cleaner.feed(byte)).collect();
        text += &cleaner.finish();
        prop_assert_eq!(text, clean(&bytes));
    }

    #[test]
    fn the_result_is_clean_and_has_the_same_lines(bytes in pieces()) {
        let text = clean(&bytes);
        prop_assert!(!text.contains(|found: char| found.is_control() && found != '\n' && found != '\t'));
        prop_assert_eq!(clean(text.as_bytes()), text.clone());
        let by_line: Vec<_> = bytes.split(|&byte| byte == b'\n').map(clean).collect();
        prop_assert_eq!(by_line.join("\n"), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_line_reads_as_a_terminal_shows_it(line in line_pieces()) {
        let size = |size| NonZeroU16::new(size).unwrap();
        let mut terminal = vt100::Parser::new(size(1), size(400), 0);
        terminal.process(line.as_bytes());
        let shown = terminal.screen().contents();
        let text = expand(&clean(line.as_bytes()));
        prop_assert_eq!(text.trim_end(), shown.trim_end());
    }
}

/// Blanks for the tabs of a line that was not written over.
fn expand(line: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for next in line.chars() {
        let (shown, width) = match next {
            '\t' => (" ".repeat(8 - column % 8), 8 - column % 8),
            '日' => (next.to_string(), 2),
            '\u{301}' => (next.to_string(), 0),
            _ => (next.to_string(), 1),
        };
        text += &shown;
        column += width;
    }
    text
}
