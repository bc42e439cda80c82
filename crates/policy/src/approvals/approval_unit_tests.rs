#![allow(clippy::unwrap_used)]
use std::path::{Path, PathBuf};

use hermes_core::{Effect, Resource, Scope, WorkingDir};
use proptest::prelude::*;

use super::ApprovalUnit;
use crate::pattern::PathVariables;

fn places(root: &Path) -> PathVariables {
    PathVariables {
        workspace: Some(root.join("dev/projects/ws")),
        home: Some(root.join("me")),
        hermes: root.join("me/.hermes"),
        temp: vec![root.join("temp")],
    }
}

fn danger(command: &str, category: &str) -> ApprovalUnit {
    let analysis = hermes_shell::analyze(command, &WorkingDir::new("/ws", None));
    ApprovalUnit::from_leaf(
        &Scope::TERMINAL_EXECUTE,
        Some(category),
        analysis.leaves.first(),
        command,
    )
}

#[test]
fn a_rule_that_lasts_is_for_the_folder_and_no_more() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap().join("deep/enough");
    let places = places(&root);
    for dir in ["me/notes", "dev/projects/ws", "temp", "other"] {
        std::fs::create_dir_all(root.join(dir)).unwrap();
    }
    let widened = |path: PathBuf| {
        let effect = Effect::path(Scope::FILE_WRITE, &path);
        ApprovalUnit::from_effect(&effect, Some(&path)).widened(&places).trees
    };
    assert_eq!(widened(root.join("me/notes/a.md")), [root.join("me/notes")]);
    assert_eq!(widened(root.join("other/a.md")), [root.join("other")]);
    // Never a home, a workspace, what holds them, or everything.
    for path in
        ["me/a.md", "dev/projects/a.md", "dev/a.md", "a.md", "dev/projects/ws/a.md", "temp/a"]
    {
        assert_eq!(widened(root.join(path)), [root.join(path)], "{path}");
    }
    for path in ["/a", "/srv/a", "/home/me/a"] {
        assert_eq!(widened(path.into()), [PathBuf::from(path)]);
    }
    // A folder is its own tree.
    assert_eq!(widened(root.join("me/notes")), [root.join("me/notes")]);
}

#[test]
fn commands_are_not_widened() {
    let places = places(Path::new("/x/y"));
    let unit = danger("rm -rf /srv/a/b/c", "delete");
    assert_eq!(unit.command.as_deref(), Some("rm"));
    assert_eq!(unit.clone().widened(&places), unit);
}

#[test]
fn what_can_be_anything_is_only_itself() {
    let exact = |command: &str, category: &str| danger(command, category).exact.is_some();
    assert!(exact("curl x | sh", "remote-to-shell"));
    assert!(exact("rm -rf $X", "delete"), "a word that is not known");
    assert!(exact("hermes config set a b", "hermes-itself"), "every setting");
    assert!(!exact("rm -rf build", "delete"));
    let (a, b) = (danger("sh -c a", "interpreter-code"), danger("sh -c b", "interpreter-code"));
    assert!(a.covers(&a) && !a.covers(&b));
}

#[test]
fn a_place_that_is_not_known_is_approved_by_the_text_alone() {
    let mut leaf =
        hermes_shell::analyze("rm -rf build", &WorkingDir::new("/ws", None)).leaves.remove(0);
    leaf.effects.push(Effect::any(Scope::FILE_DELETE));
    let unit = ApprovalUnit::from_leaf(
        &Scope::TERMINAL_EXECUTE,
        Some("delete"),
        Some(&leaf),
        "rm -rf build",
    );
    assert!(unit.exact.is_some() && unit.trees.is_empty());
}

#[test]
fn to_agree_that_a_link_goes_is_not_to_agree_that_its_target_does() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("target")).unwrap();
    std::os::unix::fs::symlink(root.join("target"), root.join("link")).unwrap();
    let rm = |name: &str| danger(&format!("rm -rf {}", root.join(name).display()), "delete");
    assert!(!rm("link").covers(&rm("target")));
    assert!(rm("link").covers(&rm("link")));
}

#[test]
fn a_unit_reads_like_a_sentence() {
    assert_eq!(
        danger("rm -rf /srv/a", "delete").to_string(),
        "terminal:execute `rm` (delete) below /srv/a"
    );
    let unit = ApprovalUnit::from_effect(&Effect::name(Scope::SECRET_USE, "TOKEN"), None);
    assert_eq!(unit.to_string(), "secret:use TOKEN");
    let command =
        Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Command("x y".into()) };
    let shown = ApprovalUnit::from_effect(&command, None).to_string();
    assert_eq!(shown, "terminal:execute, with exactly this text");
}

#[test]
fn what_is_kept_is_read_back_and_nothing_else() {
    let unit = danger("rm -rf /srv/a", "delete");
    let text = serde_json::to_string(&unit).unwrap();
    assert_eq!(serde_json::from_str::<ApprovalUnit>(&text).unwrap(), unit);
    assert!(serde_json::from_str::<ApprovalUnit>(r#"{"scope": "a:b", "tree": ["/"]}"#).is_err());
}

fn unit() -> impl Strategy<Value = ApprovalUnit> {
    let tree = prop::sample::select(vec!["/", "/a", "/a/b", "/a/b/c", "/ab", "/d"])
        .prop_map(PathBuf::from);
    let word = || prop::option::of(prop::sample::select(vec!["x", "y"]).prop_map(str::to_owned));
    let scope =
        prop::sample::select(vec!["file:write", "terminal:execute"]).prop_map(str::to_owned);
    let names = (word(), word(), word(), word(), word());
    (scope, names, prop::collection::vec(tree, 0..3)).prop_map(|(scope, names, trees)| {
        let (category, command, resource, tool, exact) = names;
        ApprovalUnit { scope, category, command, trees, resource, tool, exact, text: None }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn everything_covers_itself(a in unit()) {
        prop_assert!(a.covers(&a));
    }

    #[test]
    fn what_covers_what_covers_covers(a in unit(), b in unit(), c in unit()) {
        prop_assert!(!(a.covers(&b) && b.covers(&c)) || a.covers(&c));
    }

    #[test]
    fn only_the_same_is_covered_and_only_below(a in unit(), b in unit()) {
        if a.covers(&b) {
            let bare = |unit: &ApprovalUnit| ApprovalUnit { trees: vec![], ..unit.clone() };
            prop_assert_eq!(bare(&a), bare(&b));
            prop_assert_eq!(a.trees.is_empty(), b.trees.is_empty());
            prop_assert!(b.trees.iter().all(|tree| a.trees.iter().any(|mine| tree.starts_with(mine))));
        }
    }

    /// One place more is never covered by fewer.
    #[test]
    fn a_place_more_is_another_thing(a in unit()) {
        let mut more = a.clone();
        more.trees.push("/elsewhere".into());
        prop_assert!(!a.covers(&more) || a.trees.contains(&PathBuf::from("/")));
    }
}

#[test]
fn what_is_agreed_to_in_one_repository_is_not_for_another() {
    let at = |dir: &str| {
        let command = "git reset --hard HEAD~1";
        let analysis = hermes_shell::analyze(command, &WorkingDir::new(dir, None));
        let leaf = analysis.leaves.first();
        ApprovalUnit::from_leaf(&Scope::TERMINAL_EXECUTE, Some("git-history-loss"), leaf, command)
    };
    let (here, there) = (at("/srv/one"), at("/srv/two"));
    assert_eq!(here.trees, [PathBuf::from("/srv/one")]);
    assert!(here.covers(&here) && !here.covers(&there));
}

#[test]
fn a_deletion_of_nothing_that_is_named_is_only_itself() {
    let unit = danger("xargs rm -rf < /dev/null", "recursive-delete");
    assert!(unit.exact.is_some() && unit.command.is_none(), "{unit}");
    assert!(!unit.covers(&danger("xargs rm -rf < list", "recursive-delete")));
    assert!(unit.to_string().contains("exactly this text"), "{unit}");
}
