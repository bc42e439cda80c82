use super::{PassedTests, actions};
use crate::leaf::ShellWord;

fn passed(expression: &str) -> Vec<PassedTests> {
    let word = |text: &str| ShellWord { known: !text.starts_with('$'), ..ShellWord::literal(text) };
    let words: Vec<ShellWord> = expression.split(' ').map(word).collect();
    actions(&words).iter().map(|action| action.passed).collect()
}

const ALL: PassedTests = PassedTests { narrowed: false, generated: false };
const NARROW: PassedTests = PassedTests { narrowed: true, generated: false };
const MADE: PassedTests = PassedTests { narrowed: true, generated: true };

#[test]
fn only_what_has_passed_before_counts() {
    for (expression, expected) in [
        ("-name *.o -delete", MADE),
        ("-type f -name *.o -print -delete", MADE),
        ("( -name *.o -o -name *.pyc ) -delete", MADE),
        ("( ( -name *.o ) -o -name *.pyc -type f ) -a -delete", MADE),
        ("-name *.o ( -print , -delete )", MADE),
        ("! ! -name *.o -delete", MADE),
        ("-path ./x -prune -o -name *.o -delete", MADE),
        ("-name x -delete", NARROW),
        ("-newermt 2020-01-01 -delete", NARROW),
        ("-empty -delete", NARROW),
        ("( -name *.o -o -name x ) -delete", NARROW),
        ("-delete -name *.o", ALL),
        ("-delete -o -name *.o", ALL),
        ("-name *.o -o -delete", ALL),
        ("-name *.o , -delete", ALL),
        ("! -name *.o -delete", ALL),
        ("-not ( -name *.o ) -delete", ALL),
        ("( -name *.o -o -type f ) -delete", ALL),
        ("( -name *.o , -type f ) -delete", ALL),
        ("-name *.o $X -delete", ALL),
        ("-name $X -delete", NARROW),
        ("-name * -delete", ALL),
        ("-printf -name *.o , -delete", ALL),
        ("-novelty -delete -name *.o", ALL),
    ] {
        assert_eq!(passed(expression), [expected], "{expression}");
    }
}

#[test]
fn each_action_counts_for_itself() {
    assert_eq!(passed("-name *.o -delete -o -type f -delete"), [MADE, ALL]);
    assert_eq!(passed("-exec rm {} + -name *.o -exec rm {} ;"), [ALL, MADE]);
    assert_eq!(passed("-name *.o ) -delete"), [MADE]);
}

#[test]
fn parentheses_without_end_are_read_in_time() {
    let deep = "( ".repeat(100_000) + "-delete";
    assert_eq!(passed(&deep), [ALL]);
}
