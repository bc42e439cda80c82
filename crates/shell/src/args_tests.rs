use super::CommandArgs;
use crate::leaf::ShellWord;

fn words(texts: &[&str]) -> Vec<ShellWord> {
    texts.iter().map(|text| ShellWord::literal(*text)).collect()
}

#[test]
fn options_and_operands() {
    let words = words(&["-rf", "a", "-o", "out", "-Cdir", "--long=x", "--other", "y", "--", "-z"]);
    let args = CommandArgs::parse(&words, &["-o", "-C", "--other"]);
    assert!(args.has(&["-r"]) && args.has(&["-f"]) && !args.has(&["-z"]));
    assert_eq!(args.value(&["-o"]).map(|word| word.text).as_deref(), Some("out"));
    assert_eq!(args.value(&["-C"]).map(|word| word.text).as_deref(), Some("dir"));
    assert_eq!(args.value(&["--long"]).map(|word| word.text).as_deref(), Some("x"));
    assert_eq!(args.value(&["--other"]).map(|word| word.text).as_deref(), Some("y"));
    assert_eq!((args.operand(0), args.operand(1), args.operand(2)), ("a", "-z", ""));
}

#[test]
fn long_options_may_be_cut_short() {
    assert!(CommandArgs::parse(&words(&["--recurs"]), &[]).has(&["--recursive"]));
    assert!(!CommandArgs::parse(&words(&["--force-with-lease"]), &[]).has(&["--force"]));
}

#[test]
fn a_long_option_that_is_cut_short_takes_its_value() {
    let words = words(&["--upload-f", "a", "--head", "b", "--header=c"]);
    let valued = ["--upload-file", "--header"];
    let args = CommandArgs::parse_abbreviated(&words, &valued, &["--head"]);
    assert_eq!(args.value(&["--upload-file"]).map(|word| word.text).as_deref(), Some("a"));
    assert_eq!(args.value(&["--header"]).map(|word| word.text).as_deref(), Some("c"));
    assert_eq!((args.operand(0), args.operand(1)), ("b", ""));
}

#[test]
fn operands_are_the_same_side_by_side_or_apart() {
    let texts = |args: &CommandArgs<'_>| -> Vec<String> {
        args.operands.iter().map(|word| word.text.clone()).collect()
    };
    for (given, expected) in [
        (&["a", "b", "c"][..], &["a", "b", "c"][..]),
        (&["-x", "a", "b"], &["a", "b"]),
        (&["a", "-x", "b"], &["a", "b"]),
        (&["a", "-x", "b", "--", "-c", "d"], &["a", "b", "-c", "d"]),
        (&["a", "--", "b"], &["a", "b"]),
        (&["--", "b", "c"], &["b", "c"]),
        (&["a", "-o", "v", "b", "-", "c"], &["a", "b", "-", "c"]),
        (&["--"], &[]),
    ] {
        assert_eq!(texts(&CommandArgs::parse(&words(given), &["-o"])), expected, "{given:?}");
    }
}
