//! What is looked at, compared with ripgrep's own walk.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use hermes_core::{GrantExceptions, Grants, Scope};
use hermes_search::{FileSelection, HiddenPathRules, MatchOutput, SearchPattern};
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use proptest::prelude::*;

use crate::harness::{ALL, Tree, of, paths};

/// The files that ripgrep would look at.
fn by_ripgrep(root: &Path, selection: &FileSelection) -> BTreeSet<String> {
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(selection.ignore_files).hidden(!selection.hidden).git_global(false);
    if selection.ignore_files {
        builder.add_custom_ignore_filename(".rgignore");
    }
    let mut overrides = OverrideBuilder::new(root);
    for glob in &selection.globs {
        overrides.add(glob).unwrap();
    }
    builder.overrides(overrides.build().unwrap());
    builder
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned())
        .filter(|path| !path.split('/').any(|part| part == ".git"))
        .collect()
}

fn by_us(tree: &Tree, below: &str, selection: &FileSelection) -> BTreeSet<String> {
    let content = of(SearchPattern::regex(""), MatchOutput::Files);
    let found = tree.search_in(below, selection, &content, ALL).unwrap();
    paths(&found).into_iter().filter(|path| !path.split('/').any(|part| part == ".git")).collect()
}

fn check(tree: &Tree, below: &str, selection: &FileSelection) {
    let root = if below.is_empty() { tree.path() } else { tree.path().join(below) };
    assert_eq!(by_us(tree, below, selection), by_ripgrep(&root, selection), "{selection:?}");
}

fn hard_tree() -> Tree {
    let tree = Tree::new(&[
        (".gitignore", "*.log\n/build\nsecret/\n!keep.log\n\\#odd\n*.tmp\n"),
        (".ignore", "*.ign\n!special.tmp\n"),
        (".rgignore", "*.rg\n!shown.ign\n"),
        (".git/info/exclude", "excluded\n"),
        (".git/config", "\n"),
        ("sub/.gitignore", "!again.log\nlocal\n"),
        ("sub/repo/.git/HEAD", ""),
        ("sub/repo/.gitignore", "inner\n"),
        ("sub/.hidden/.gitignore", "!*\n"),
        (".dot/.gitignore", "\n"),
    ]);
    let names = [
        "a.log",
        "keep.log",
        "again.log",
        "build",
        "secret/x",
        "excluded",
        "local",
        "inner",
        "x.ign",
        "shown.ign",
        "special.tmp",
        "x.tmp",
        "x.rg",
        ".env",
        "plain",
        "#odd",
    ];
    for dir in ["", "sub/", "sub/repo/", "sub/.hidden/", ".dot/", "deep/a/b/c/"] {
        for name in names {
            if dir.is_empty() || name != "build" {
                tree.write(format!("{dir}{name}"), "x\n");
            }
        }
    }
    tree
}

#[test]
fn as_ripgrep_chooses() {
    let tree = hard_tree();
    for hidden in [false, true] {
        for ignore_files in [false, true] {
            for globs in [vec![], vec!["*.log"], vec!["!*.log"], vec!["sub/**"], vec![".env", "x*"]]
            {
                let globs = globs.into_iter().map(str::to_owned).collect();
                let selection =
                    FileSelection { hidden, ignore_files, globs, ..FileSelection::default() };
                check(&tree, "", &selection);
            }
        }
    }
}

#[test]
fn the_rules_above_the_root_hold() {
    let tree = hard_tree();
    for below in ["sub", "sub/repo", "deep/a"] {
        // What .rgignore says above the root is not looked up.
        let globs = vec!["!*.rg".to_owned(), "!*.ign".to_owned()];
        check(&tree, below, &FileSelection { globs, ..FileSelection::default() });
    }
}

#[test]
fn depth_and_types() {
    let tree = Tree::new(&[("a.rs", "x"), ("b/c.rs", "x"), ("b/d/e.py", "x")]);
    let at = |max_depth, types: &[&str]| {
        let types = types.iter().map(|name| (*name).to_owned()).collect();
        by_us(&tree, "", &FileSelection { max_depth, types, ..FileSelection::default() })
    };
    let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(at(Some(1), &[]), set(&["a.rs"]));
    assert_eq!(at(Some(2), &[]), set(&["a.rs", "b/c.rs"]));
    assert_eq!(at(None, &["py"]), set(&["b/d/e.py"]));
    assert_eq!(at(None, &["!py"]), set(&["a.rs", "b/c.rs"]));
}

#[test]
fn git_keeps_its_books_to_itself() {
    let tree = Tree::new(&[(".git/config", "x"), ("a", "x")]);
    let shown = |ignore_files| {
        let selection = FileSelection { hidden: true, ignore_files, ..FileSelection::default() };
        paths(
            &tree
                .search_in("", &selection, &of(SearchPattern::regex("x"), MatchOutput::Files), ALL)
                .unwrap(),
        )
    };
    assert_eq!(shown(true), ["a"]);
    assert_eq!(shown(false), [".git/config", "a"]);
}

#[test]
fn what_is_veiled_is_not_shown() {
    let tree = Tree::new(&[(".env", "x"), ("a", "x"), ("keys/id", "x"), ("keys/deep/id", "x")]);
    let root = tree.path();
    let hides = move |_: &Scope, real: &Path| {
        real == root.join("keys") || real.file_name().is_some_and(|name| name == ".env")
    };
    let veil = HiddenPathRules::from_grants(&Grants::allow_all().with_exceptions(Arc::new(hides)));
    let selection = FileSelection { hidden: true, protected: veil, ..FileSelection::default() };
    let content = of(SearchPattern::regex("x"), MatchOutput::Files);
    let found = tree.search_in("", &selection, &content, ALL).unwrap();
    assert_eq!((paths(&found), found.page.skipped.protected), (vec!["a".to_owned()], 2));
}

/// Closes one file under each of its names.
struct Secret((u64, u64));

impl GrantExceptions for Secret {
    fn denies(&self, _: &Scope, _: &Path) -> bool {
        false
    }

    fn denies_hard_linked(&self, _: &Scope, _: &Path, file: (u64, u64)) -> bool {
        file == self.0
    }
}

#[test]
fn another_name_of_a_veiled_file_is_not_shown() {
    let tree = Tree::new(&[("a", "x"), ("sub/b", "x"), ("twice", "x")]);
    let root = tree.path();
    let outside = tempfile::tempdir_in(root.parent().unwrap()).unwrap();
    let secret = outside.path().join("id_rsa");
    std::fs::write(&secret, "x").unwrap();
    std::fs::hard_link(&secret, root.join("sub/hl")).unwrap();
    std::fs::hard_link(root.join("twice"), root.join("again")).unwrap();
    let found = std::fs::metadata(&secret).unwrap();
    let veil = HiddenPathRules::from_grants(
        &Grants::allow_all().with_exceptions(Arc::new(Secret((found.dev(), found.ino())))),
    );
    let selection = FileSelection { protected: veil, ..FileSelection::default() };
    for report in
        [MatchOutput::Files, MatchOutput::Counts, MatchOutput::Lines { before: 0, after: 0 }]
    {
        let content = of(SearchPattern::regex("x"), report);
        let found = tree.search_in("", &selection, &content, ALL).unwrap();
        assert_eq!(paths(&found), ["a", "again", "sub/b", "twice"]);
        assert_eq!(found.page.skipped.protected, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn as_ripgrep_chooses_in_any_tree(
        rules in prop::collection::vec(
            ("([ab]/){0,2}", prop::sample::select(vec![".gitignore", ".ignore", ".rgignore"]),
             prop::collection::vec("!?/?[abc*]{1,2}(/[abc*]{1,2})?/?", 1..4)),
            0..4,
        ),
        files in prop::collection::btree_set("([ab.]?[abc]/){0,3}[abc.]?[abc]", 1..14),
        is_repository in any::<bool>(),
        hidden in any::<bool>(),
    ) {
        let tree = Tree::new(&[]);
        for name in &files {
            // A name may be a folder by now, or a part of it a file.
            let path = tree.path().join(name);
            if let Some(dir) = path.parent() && std::fs::create_dir_all(dir).is_ok() {
                let _ = std::fs::write(path, "x");
            }
        }
        for (dir, name, lines) in &rules {
            let place = tree.path().join(dir);
            if std::fs::create_dir_all(&place).is_ok() {
                std::fs::write(place.join(name), lines.join("\n")).unwrap();
            }
        }
        if is_repository {
            tree.write(".git/HEAD", "");
        }
        let selection = FileSelection { hidden, ..FileSelection::default() };
        prop_assert_eq!(by_us(&tree, "", &selection), by_ripgrep(&tree.path(), &selection));
    }
}
