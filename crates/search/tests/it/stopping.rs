//! Trouble on the way, and callers that do not wait.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use hermes_core::ToolContext;
use hermes_search::{
    EarlyStop, FileSelection, MatchOutput, SearchError, SearchMonitor, SearchPattern, SortOrder,
    search,
};

use crate::harness::{ALL, LINES, Tree, lines, named, of};

#[test]
fn a_cancelled_search_is_over() {
    let tree = Tree::new(&[("a", "x\n")]);
    let cx = ToolContext::bare(tree.path());
    cx.cancel.cancel();
    let content = of(SearchPattern::regex("x"), LINES);
    let found =
        search(&tree.root(""), &FileSelection::default(), &content, ALL, &SearchMonitor::new(&cx));
    assert!(matches!(found, Err(SearchError::Cancelled)));
}

#[test]
fn a_search_ends_in_the_middle_of_a_file() {
    // A hole of a terabyte, of which a search would read every byte.
    let tree = Tree::new(&[]);
    let hole = fs::File::create(tree.path().join("hole")).unwrap();
    hole.set_len(1 << 40).unwrap();
    let cx = ToolContext::bare(tree.path());
    let watch = SearchMonitor::new(&cx).with_timeout(Duration::from_millis(50));
    let content = of(SearchPattern::regex("x"), MatchOutput::Counts);
    let found =
        search(&tree.root("hole"), &FileSelection::default(), &content, ALL, &watch).unwrap();
    assert_eq!(found.page.early_stop, Some(EarlyStop::TimedOut));
}

#[test]
fn when_time_is_up_what_is_known_is_told() {
    let tree = Tree::new(&[("a", "x\n")]);
    let mut cx = ToolContext::bare(tree.path());
    cx.deadline = Some(Instant::now());
    let content = of(SearchPattern::regex("x"), MatchOutput::Counts);
    let searched =
        search(&tree.root(""), &FileSelection::default(), &content, ALL, &SearchMonitor::new(&cx))
            .unwrap();
    assert_eq!(searched.page.early_stop, Some(EarlyStop::TimedOut));
    assert!(!searched.page.is_exact && searched.page.has_more);
}

#[test]
fn pipes_and_sockets_are_never_opened() {
    let tree = Tree::new(&[("a", "x\n")]);
    assert!(Command::new("mkfifo").arg(tree.path().join("pipe")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(tree.path().join("socket")).unwrap();
    let searched = tree.search(&of(SearchPattern::regex("x"), LINES), ALL);
    assert_eq!((lines(&searched), searched.page.skipped.special), (vec!["a:1:x".to_owned()], 2));
}

#[test]
fn links_are_not_followed() {
    let tree = Tree::new(&[("in/a", "x\n"), ("out/b", "x\n")]);
    symlink("../out", tree.path().join("in/way")).unwrap();
    symlink("../out/b", tree.path().join("in/link")).unwrap();
    symlink(".", tree.path().join("in/round")).unwrap();
    let content = of(SearchPattern::regex("x"), LINES);
    let found = tree.search_in("in", &FileSelection::default(), &content, ALL).unwrap();
    assert_eq!(lines(&found), ["a:1:x"]);
    // A link that is named is followed.
    symlink("in", tree.path().join("named")).unwrap();
    let through = tree.search_in("named", &FileSelection::default(), &content, ALL).unwrap();
    assert_eq!(lines(&through), ["a:1:x"]);
    assert_eq!(named(&tree.names("link", SortOrder::Path, ALL)), ["in/link"]);
}

#[test]
fn odd_names_are_found() {
    let tree = Tree::new(&[("two\nlines", "x\n"), (" space ", "x\n")]);
    tree.write(OsStr::from_bytes(b"caf\xE9"), "x\n");
    tree.write("d".repeat(255), "x\n");
    let searched = tree.search(&of(SearchPattern::regex("x"), MatchOutput::Files), ALL);
    assert_eq!(searched.page.total, 4);
    assert_eq!(named(&tree.names("caf?", SortOrder::Path, ALL)), ["caf\u{FFFD}"]);
}

#[test]
fn very_deep_paths_are_reached() {
    let tree = Tree::new(&[]);
    let name = "n".repeat(200);
    let mut place = tree.path();
    for _ in 0..18 {
        place.push(&name);
    }
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("f"), "x\n").unwrap();
    assert_eq!(tree.lines("x").len(), 1);
    assert_eq!(tree.names("f", SortOrder::Modified, ALL).total, 1);
}

#[test]
fn many_levels_hold_few_handles() {
    let tree = Tree::new(&[]);
    let mut place = tree.path();
    for _ in 0..250 {
        place.push("d");
        fs::create_dir_all(place.join("e")).unwrap();
        fs::write(place.join("f"), "x\n").unwrap();
        fs::write(place.join("a"), "x\n").unwrap();
    }
    let searched = tree.search(&of(SearchPattern::regex("x"), MatchOutput::Counts), ALL);
    assert_eq!((searched.matches, searched.page.skipped.unreadable), (500, 0));
}

#[test]
fn closed_folders_and_files_are_counted() {
    let tree = Tree::new(&[("a", "x\n"), ("closed/b", "x\n"), ("file", "x\n")]);
    let close = |name: &str, mode| {
        let path = tree.path().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    close("closed", 0o000);
    close("file", 0o000);
    let may_read = fs::read_dir(tree.path().join("closed")).is_ok();
    let searched = tree.search(&of(SearchPattern::regex("x"), LINES), ALL);
    close("closed", 0o755);
    close("file", 0o644);
    // The superuser reads everything.
    let expected = if may_read { (3, 0) } else { (1, 2) };
    assert_eq!((searched.page.total, searched.page.skipped.unreadable), expected);
    if !may_read {
        assert_eq!(searched.page.skipped.paths, ["closed", "file"].map(PathBuf::from));
    }
}

#[test]
fn files_that_come_and_go_do_no_harm() {
    let tree = Tree::new(&[("stays", "x\n")]);
    for number in 0..200 {
        tree.write(format!("d/{number}"), "x\n");
    }
    let place = tree.path();
    let remover = std::thread::spawn(move || {
        for number in 0..200 {
            let path = place.join(format!("d/{number}"));
            fs::remove_file(&path).unwrap();
            symlink("../stays", &path).unwrap();
        }
    });
    for _ in 0..20 {
        let searched = tree.search(&of(SearchPattern::regex("x"), MatchOutput::Files), ALL);
        assert!((1..=201).contains(&searched.page.total));
        assert_eq!(searched.page.skipped.unreadable, 0);
    }
    remover.join().unwrap();
    assert_eq!(tree.search(&of(SearchPattern::regex("x"), MatchOutput::Files), ALL).page.total, 1);
}

#[test]
fn a_line_that_nobody_can_hold_is_skipped_and_told() {
    let tree = Tree::new(&[("a", "x\n")]);
    let file = fs::File::create(tree.path().join("endless")).unwrap();
    // Blanks without a line feed, more than a line may have.
    let piece = vec![b' '; 1 << 20];
    for _ in 0..70 {
        std::io::Write::write_all(&mut &file, &piece).unwrap();
    }
    let searched = tree.search(&of(SearchPattern::regex("x"), LINES), ALL);
    assert_eq!(lines(&searched), ["a:1:x"]);
    assert_eq!((searched.page.skipped.too_large, searched.page.is_exact), (1, true));
}

#[test]
fn the_kernels_own_files_are_no_trap() {
    let cx = ToolContext::bare("/proc/self");
    let files = hermes_files::FileAccess::new(&cx);
    let Ok(root) = hermes_search::SearchRoot::open(&files, std::path::Path::new("/proc/self"))
    else {
        return;
    };
    let selection = FileSelection { max_depth: Some(1), ..FileSelection::default() };
    let content = of(SearchPattern::regex("."), MatchOutput::Files);
    let found = search(&root, &selection, &content, ALL, &SearchMonitor::new(&cx)).unwrap();
    let paths = crate::harness::paths(&found);
    assert!(paths.contains(&"status".to_owned()), "{paths:?}");
    for trap in ["environ", "mem", "maps", "cmdline"] {
        assert!(!paths.contains(&trap.to_owned()), "{trap} was read");
    }
}
