use super::*;

#[test]
fn numbered_lines_are_recognised() {
    for text in [
        "1|fn main() {\n2|}",
        "1|fn main() {\n2|}\n",
        "41|a\n42|b\n43|\n44|d\n",
        "  9|a\n 10|b\n",
        "7|x = a | b\n8|y\r\n9|z",
        "1|a\n2|b\n3|c\n[the file goes on]\n",
        "1|a\n2|b\n\n\n",
    ] {
        assert_eq!(LineNumbering::detect(text), LineNumbering::Surely, "{text:?}");
    }
}

#[test]
fn what_may_be_a_table_is_told_apart_by_the_lines_that_were_shown() {
    for (numbered, shown) in [
        ("1|| a | b |\n2||---|---|\n3|| 1 | 2 |\n", "| a | b |\n|---|---|\n| 1 | 2 |\n"),
        ("2||---|---|\n3|| 1 | 2 |\n", "| a | b |\n|---|---|\n| 1 | 2 |\n"),
        ("1|ls | wc\n", "ls | wc\n"),
        ("1|only one line", "only one line"),
        ("1|a|b\n2|c|d\n", "x|y\nc|d\n"),
        ("1|a\n3|c\n", "a\nb\nc\n"),
        ("1|a|b\r2|c|d\r", "a|b\rc|d\r"),
    ] {
        assert_eq!(LineNumbering::detect(numbered), LineNumbering::Perhaps, "{numbered:?}");
        assert!(numbers_lines_of(numbered, shown), "{numbered:?}");
    }
    for (table, there) in [
        ("1|ann|12\n2|bob|7\n", "1|ann|12\n2|bob|7\n"),
        ("1|ann|12\n2|bob|7\n", "bob|7\nann|12\n"),
        ("1|ann|12\n2|bob|7\n", ""),
        ("1| \n", " \n"),
    ] {
        assert!(!numbers_lines_of(table, there), "{table:?} {there:?}");
    }
}

#[test]
fn other_texts_are_not() {
    for text in [
        "",
        "2|a\n1|b\n",
        "1|a\n1|a\n",
        "a|1\nb|2\n",
        "1. a\n2. b\n",
        "01|a\n02|b\n",
        "1|a\n2|b\nthree\nfour\nfive\n",
        "id|name\n1|alice\n2|bob\n3|carol\n",
        "id|name|age\n1|alice|3\n2|bob|4\n",
        "Table\n1|x\n2|y\n",
        "99999999999999999999|a\n99999999999999999999|b",
    ] {
        assert_eq!(LineNumbering::detect(text), LineNumbering::No, "{text:?}");
    }
}

#[test]
fn the_note_that_nothing_changed_is_recognised() {
    let note = r#"{"status":"unchanged","path":"/a","dedup":true,"content_returned":false}"#;
    assert!(is_unchanged_note(note));
    assert!(is_unchanged_note(UNCHANGED_MESSAGE));
    assert!(is_unchanged_note(&format!("a.txt: {UNCHANGED_MESSAGE}\n")));
    assert!(!is_unchanged_note(&UNCHANGED_MESSAGE.repeat(3)));
    for text in [
        "unchanged",
        "{}",
        r#"{"status":"unchanged"}"#,
        r#"{"status":"done","path":"/a"}"#,
        r#"["status","unchanged"]"#,
    ] {
        assert!(!is_unchanged_note(text), "{text}");
    }
}
