use super::{Passed, actions};
use crate::leaf::Word;

fn passed(expression: &str) -> Vec<Passed> {
    let word = |text: &str| Word { known: !text.starts_with('$'), ..Word::literal(text) };
    let words: Vec<Word> = expression.split(' ').map(word).collect();
    actions(&words).iter().map(|action| action.passed).collect()
}

const ALL: Passed = Passed { narrowed: false, generated: false };
const NARROW: Passed = Passed { narrowed: true, generated: false };
const MADE: Passed = Passed { narrowed: true, generated: true };

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
