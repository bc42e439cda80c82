use hermes_core::ToolContext;
use hermes_search::{
    EntryKinds, FileSelection, NameQuery, PageRange, PathGlob, SearchMonitor, SortOrder,
    find_fuzzy, find_names,
};

use crate::harness::{ALL, Tree, named};

fn tree() -> Tree {
    let tree = Tree::new(&[
        ("config.py", "1"),
        ("src/config.py", "22"),
        ("src/myconfig.py", ""),
        ("src/app/main.py", ""),
        ("lib/src/main.py", ""),
        (".github/workflows/ci.yml", ""),
        (".env", ""),
    ]);
    tree.age("config.py", 30);
    tree.age("src/config.py", 10);
    tree
}

#[test]
fn globs_mean_what_they_say() {
    let tree = tree();
    for (glob, expected) in [
        ("config.py", vec!["config.py", "src/config.py"]),
        ("*config.py", vec!["config.py", "src/config.py", "src/myconfig.py"]),
        ("src/**/*.py", vec!["src/app/main.py", "src/config.py", "src/myconfig.py"]),
        ("**/main.py", vec!["lib/src/main.py", "src/app/main.py"]),
        (".env", vec![".env"]),
        (".github/**", vec![".github/workflows/ci.yml"]),
        ("none", vec![]),
    ] {
        let found = tree.names(glob, SortOrder::Path, ALL);
        assert_eq!(named(&found), expected, "{glob}");
        assert_eq!((found.total, found.is_exact), (expected.len() as u64, true));
    }
}

#[test]
fn newest_first_with_size_and_time() {
    let found = tree().names("config.py", SortOrder::Modified, ALL);
    assert_eq!(named(&found), ["src/config.py", "config.py"]);
    assert_eq!(found.items[0].size, Some(2));
    assert!(found.items[0].modified > found.items[1].modified);
    let near = tree().names("config.py", SortOrder::Relevance, ALL);
    assert_eq!(named(&near), ["config.py", "src/config.py"]);
}

#[test]
fn pages_of_names_meet() {
    let tree = Tree::new(&[]);
    for number in 0..100 {
        tree.write(format!("d{}/f{number:02}", number % 7), "");
        tree.age(&format!("d{}/f{number:02}", number % 7), number % 10);
    }
    for sort in [SortOrder::Path, SortOrder::Modified, SortOrder::Relevance] {
        let whole = named(&tree.names("f*", sort, ALL));
        assert_eq!(whole.len(), 100);
        let mut pages = Vec::new();
        while pages.len() < 100 {
            let found = tree.names("f*", sort, PageRange { offset: pages.len() as u64, limit: 9 });
            assert!(found.has_more == (pages.len() + 9 < 100) && !found.items.is_empty());
            assert!(sort == SortOrder::Path || (found.total == 100 && found.is_exact));
            pages.extend(named(&found));
        }
        assert_eq!(pages, whole, "{sort:?}");
    }
}

#[test]
fn folders_when_asked() {
    let tree = tree();
    let cx = ToolContext::bare(tree.path());
    let find = |wanted, sort| {
        let names = NameQuery { glob: PathGlob::new("src", false).unwrap(), kinds: wanted, sort };
        let root = tree.root("");
        let found =
            find_names(&root, &FileSelection::default(), &names, ALL, &SearchMonitor::new(&cx));
        named(&found.unwrap())
    };
    for sort in [SortOrder::Path, SortOrder::Relevance] {
        let mut both = find(EntryKinds::Both, sort);
        both.sort();
        assert_eq!(both, ["lib/src", "src"]);
        assert_eq!(find(EntryKinds::Files, sort), [""; 0]);
    }
    let names = NameQuery {
        glob: PathGlob::new("**", false).unwrap(),
        kinds: EntryKinds::Both,
        sort: SortOrder::Path,
    };
    let found = find_names(
        &tree.root(""),
        &FileSelection::default(),
        &names,
        ALL,
        &SearchMonitor::new(&cx),
    );
    let all = named(&found.unwrap());
    let mut sorted: Vec<std::path::PathBuf> = all.iter().map(Into::into).collect();
    sorted.sort();
    assert_eq!(all.iter().map(std::path::PathBuf::from).collect::<Vec<_>>(), sorted);
}

#[test]
fn near_names_best_first_with_their_letters() {
    let tree = Tree::new(&[
        ("app/controllers/users_controller.rb", ""),
        ("app/models/user.rb", ""),
        ("usual/recordings/control.txt", ""),
        ("README.md", ""),
    ]);
    let cx = ToolContext::bare(tree.path());
    let root = tree.root("");
    let near = |text: &str, page| {
        let watch = SearchMonitor::new(&cx);
        find_fuzzy(&root, &FileSelection::default(), text, EntryKinds::Files, page, &watch).unwrap()
    };
    let found = near("usrctl", ALL);
    let first = &found.items[0];
    assert_eq!(first.entry.path.to_str(), Some("app/controllers/users_controller.rb"));
    let letters: Vec<char> = first.entry.path.to_string_lossy().chars().collect();
    let shown: String = first.positions.iter().map(|at| letters[*at as usize]).collect();
    assert_eq!(shown, "usrctl");
    assert!(found.items.windows(2).all(|pair| pair[0].score >= pair[1].score));
    assert_eq!(near("zzz", ALL).total, 0);
    let second = near("usrctl", PageRange { offset: 1, limit: 1 });
    assert_eq!(second.items.first(), found.items.get(1));
    assert_eq!(near("readme", ALL).items[0].entry.path.to_str(), Some("README.md"));
}

#[test]
fn a_file_as_the_root_has_one_name() {
    let tree = tree();
    let cx = ToolContext::bare(tree.path());
    let root = tree.root("src/config.py");
    for (glob, expected) in [("*.py", 1), ("*.rs", 0)] {
        let names = NameQuery {
            glob: PathGlob::new(glob, false).unwrap(),
            kinds: EntryKinds::Files,
            sort: SortOrder::Path,
        };
        let found =
            find_names(&root, &FileSelection::default(), &names, ALL, &SearchMonitor::new(&cx));
        assert_eq!(found.unwrap().total, expected);
    }
}

#[test]
fn links_are_names_wherever_they_lead() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new(&[("d/a", "a"), ("b", "b")]);
    let at = |name: &str| tree.path().join(name);
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    for (target, name) in [
        ("d", "to-folder"),
        ("d/a", "to-file"),
        ("../b", "d/up"),
        ("../../etc/passwd", "d/out"),
        ("/etc/passwd", "absolute"),
        ("none", "to-nothing"),
        ("to-file", "to-link"),
        ("to-folder/../b", "winding"),
    ] {
        symlink(target, at(name)).unwrap();
    }
    let mut found = named(&tree.names("**", SortOrder::Path, ALL));
    found.sort();
    let links = ["absolute", "b", "d/a", "d/out", "d/up"];
    assert_eq!(
        found,
        [&links[..], &["to-file", "to-folder", "to-link", "to-nothing", "winding"]].concat()
    );
    let cx = ToolContext::bare(tree.path());
    let find = |wanted, glob: &str| {
        let names = NameQuery {
            glob: PathGlob::new(glob, false).unwrap(),
            kinds: wanted,
            sort: SortOrder::Path,
        };
        find_names(&tree.root(""), &FileSelection::default(), &names, ALL, &SearchMonitor::new(&cx))
            .unwrap()
    };
    assert_eq!(named(&find(EntryKinds::Dirs, "**")), ["d"]);
    let looked_at = [EntryKinds::Files, EntryKinds::Dirs, EntryKinds::Both]
        .map(|wanted| find(wanted, "none").files_visited);
    assert_eq!(looked_at, [10, 1, 11]);
}
