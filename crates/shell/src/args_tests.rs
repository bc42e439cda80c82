use super::Args;
use crate::leaf::Word;

fn parse(words: &[&str], valued: &[&str]) -> Args {
    let words: Vec<Word> = words.iter().map(|word| Word::literal(*word)).collect();
    Args::parse(&words, valued)
}

#[test]
fn options_and_operands() {
    let args = parse(
        &["-rf", "a", "-o", "out", "-Cdir", "--long=x", "--other", "y", "--", "-z"],
        &["-o", "-C", "--other"],
    );
    assert!(args.has(&["-r"]) && args.has(&["-f"]) && !args.has(&["-z"]));
    assert_eq!(args.value(&["-o"]).map(|word| word.text).as_deref(), Some("out"));
    assert_eq!(args.value(&["-C"]).map(|word| word.text).as_deref(), Some("dir"));
    assert_eq!(args.value(&["--long"]).map(|word| word.text).as_deref(), Some("x"));
    assert_eq!(args.value(&["--other"]).map(|word| word.text).as_deref(), Some("y"));
    assert_eq!((args.operand(0), args.operand(1), args.operand(2)), ("a", "-z", ""));
}

#[test]
fn long_options_may_be_cut_short() {
    assert!(parse(&["--recurs"], &[]).has(&["--recursive"]));
    assert!(!parse(&["--force-with-lease"], &[]).has(&["--force"]));
}
