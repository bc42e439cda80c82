//! A second opinion: whatever commands an independent grammar sees in valid
//! source, this crate sees too.

use tree_sitter::{Node, Parser};

use crate::corpus_tests::{EVERYDAY, look};

/// The names of all commands in the tree that are plain words.
fn names<'s>(node: Node<'_>, source: &'s str, found: &mut Vec<&'s str>) {
    if node.kind() == "command_name"
        && let Some(word) = node.child(0).filter(|child| child.kind() == "word")
    {
        found.extend(source.get(word.byte_range()));
    }
    for index in 0..node.child_count() {
        if let Some(child) = node.child(index) {
            names(child, source, found);
        }
    }
}

#[test]
fn no_command_is_overlooked() {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the grammar loads");
    let mut compared = 0;
    for source in EVERYDAY {
        let tree = parser.parse(source, None).expect("a tree");
        if tree.root_node().has_error() {
            continue;
        }
        let mut found = Vec::new();
        names(tree.root_node(), source, &mut found);
        let analysis = look(source);
        for name in found {
            let name = name.rsplit('/').next().unwrap_or(name);
            let seen = analysis
                .leaves
                .iter()
                .any(|leaf| leaf.program == name || leaf.via.iter().any(|via| via == name));
            assert!(seen || name == "time", "{name} in {source}");
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
}
