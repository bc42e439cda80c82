//! Whatever comes in, an answer comes out.

use proptest::prelude::*;

use crate::corpus_tests::{EVERYDAY, findings, look};
use crate::{CommandPattern, Level};

fn asked(source: &str) -> bool {
    look(source).level() == Some(Level::Ask)
}

#[test]
fn what_is_too_long_is_asked_about() {
    assert_eq!(findings(&"a".repeat(300 * 1024)), ["Ask too-long"]);
}

#[test]
fn a_long_literal_is_fine() {
    assert!(findings(&format!("echo '{}'", "x ".repeat(50_000))).is_empty());
    assert!(
        findings(&format!("cat > f <<'EOF'\n{}\nEOF", "rm -rf / ;\n".repeat(9_000))).is_empty()
    );
    assert!(findings(&format!("echo {}", "x".repeat(100_000))).is_empty());
}

#[test]
fn what_is_nested_too_deeply_is_asked_about() {
    for open in [
        "(",
        "$(",
        "{ ",
        "if ",
        "\"$(",
        "${x:-",
        "$((",
        "<(",
        "f() ",
        "a=(",
        "[[ $(",
        "while ",
        "case x in x) ",
        "! ",
        "time ",
        "sudo ",
        "bash -c ",
        "eval ",
        "$[",
        "coproc ",
        "for x in $(",
    ] {
        let source = open.repeat(10_000);
        assert!(look(&source).level().is_some() || open == "! " || open == "bash -c ", "{open}");
    }
    assert!(asked(&format!("{}ls{}", "(".repeat(10_000), ")".repeat(10_000))));
    assert!(asked(&format!("{}ls{}", "$(".repeat(10_000), ")".repeat(10_000))));
}

#[test]
fn what_is_too_much_is_asked_about() {
    assert!(asked(&"a|".repeat(50_000)));
    assert!(asked(&"a;".repeat(50_000)));
    assert!(asked(&"(a=1);".repeat(40_000)));
}

#[test]
fn pathological_input_ends() {
    for piece in [
        ";",
        "&",
        "|",
        "<",
        ">",
        "<<a ",
        "\n",
        "{",
        "}",
        "{a,b}",
        "$",
        "`",
        "'",
        "\"",
        "\\",
        "*",
        "((",
        "))",
        "$((",
        "x=1;",
        "f(){ f;};",
        "<<E\n",
        "x=$x$x;",
        "rm a ",
        "-exec a ; ",
        "{a,{b,",
        "@(",
        "a=(b) ",
        "?[",
        "for i in a b;do ",
        "x+=y;",
    ] {
        let source: String = piece.repeat(100_000 / piece.len());
        for source in [source.clone(), format!("echo {source}"), format!("find {source}")] {
            let analysis = look(&source);
            assert!(analysis.leaves.len() <= 3000, "{piece}");
        }
    }
}

#[test]
fn values_that_grow_are_forgotten() {
    let source = format!("x=aaaaaaaa;{}echo $x", "x=$x$x;".repeat(64));
    assert!(
        look(&source)
            .leaves
            .iter()
            .all(|leaf| leaf.words.iter().all(|word| word.text.len() < 100_000))
    );
}

proptest! {
    #[test]
    fn any_text_is_answered(source in "\\PC{0,200}") {
        let _ = look(&source);
        let _ = CommandPattern::parse(&source);
    }

    #[test]
    fn shell_like_text_is_answered(source in "[ a-c{}()$\"'`\\\\;&|<>*?\\[\\]=~!#\n\t0-9,.:-]{0,120}") {
        let _ = look(&source);
    }

    #[test]
    fn mutated_commands_are_answered(
        index in 0..EVERYDAY.len(),
        cut in 0usize..60,
        piece in "[(){}$\"'`\\\\;&|<>\n]{1,3}",
    ) {
        let source = EVERYDAY[index];
        let at = source.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(source.len());
        let (left, right) = source.split_at(at);
        let _ = look(left);
        let _ = look(&format!("{left}{piece}{right}"));
    }

    #[test]
    fn a_block_is_found_after_anything_valid(index in 0..EVERYDAY.len()) {
        let source = format!("{}\nrm -rf /", EVERYDAY[index]);
        prop_assert_eq!(look(&source).level(), Some(Level::Block), "{}", source);
    }
}
