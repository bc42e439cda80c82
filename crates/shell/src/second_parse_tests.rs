use std::collections::HashSet;

use super::*;
use crate::corpus_tests::{EVERYDAY, look};

#[test]
fn everyday_commands_are_read_alike() {
    let mut compared = 0;
    for source in EVERYDAY {
        let tree = parse(source).expect("a tree");
        if tree.root_node().has_error() {
            continue;
        }
        let analysis = look(source);
        let seen = |name: &String| {
            analysis
                .leaves
                .iter()
                .any(|leaf| leaf.program == *name || leaf.wrappers.iter().any(|via| via == name))
        };
        for name in command_names(&tree, source) {
            assert!(seen(&name), "{name} in {source}");
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn what_only_the_grammar_sees_is_asked_about() {
    let blind = CommandAnalysis::default();
    let finding = find_disagreement("a=(1); rm x", &blind, &HashSet::new()).expect("a finding");
    assert_eq!(finding.category, "unparsable");
    assert!(find_disagreement("ll # x", &blind, &HashSet::from(["ll".to_owned()])).is_none());
    assert!(find_disagreement("a=(1); rm x", &look("a=(1); rm x"), &HashSet::new()).is_none());
}

#[test]
fn sums_in_a_heredoc_are_no_commands() {
    for source in ["cat <<E\nhi $((1+1))\nE", "n=3; cat <<E > out\n$(( (n + 1) * 2 ))\nE"] {
        assert!(look(source).findings.is_empty(), "{source}");
    }
    let blind = CommandAnalysis::default();
    for source in ["cat <<E\n$((rm x); (ls))\nE", "cat <<E\n$(( $(rm x) + 1 ))\nE"] {
        assert!(
            find_disagreement(source, &blind, &HashSet::from(["cat".to_owned()])).is_some(),
            "{source}"
        );
    }
}

#[test]
fn hostile_source_is_given_up() {
    for piece in ["(", "{ ", "$(", "<<a ", "((", "[[ ", "a=(", "`", "case x in ", "\"$(", "{a,"] {
        for source in [piece.repeat(12_000 / piece.len()), piece.repeat(300)] {
            let _ = parse(&source).map(|tree| command_names(&tree, &source));
        }
    }
}
