use super::*;

/// A folder with these files.
fn folder(names: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let held = tempfile::tempdir().unwrap();
    let root = held.path().canonicalize().unwrap();
    for name in names {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    (held, root)
}

fn found(root: &Path, pattern: &str) -> Vec<String> {
    let places = GlobExpander::default().expand(&root.join(pattern)).unwrap();
    let name = |path: &PathBuf| path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
    let mut names: Vec<String> = places.iter().map(name).collect();
    names.sort();
    names
}

#[test]
fn patterns_stand_for_what_the_shell_would_find() {
    let (_held, root) = folder(&["a.o", "b.o", "c.txt", ".h.o", "d/x.o", "d/e/y.o", "foo.1"]);
    assert_eq!(found(&root, "*.o"), ["a.o", "b.o"]);
    assert_eq!(found(&root, "foo.?"), ["foo.1"]);
    assert_eq!(found(&root, "[ab].o"), ["a.o", "b.o"]);
    assert_eq!(found(&root, ".*.o"), [".h.o"]);
    assert_eq!(found(&root, "*/*.o"), ["d/x.o"]);
    assert_eq!(found(&root, "**/*.o"), ["a.o", "b.o", "d/e/y.o", "d/x.o"]);
    assert_eq!(found(&root, "*/nowhere"), [""; 0]);
    assert_eq!(found(&root, "plain"), ["plain"], "a name stands for itself");
}

#[test]
fn more_than_is_looked_at_is_said() {
    let (_held, root) = folder(&["d/a", "d/b", "d/c"]);
    let mut few = GlobExpander { entries_left: 2 };
    assert_eq!(few.expand(&root.join("d/*")), None);
    let mut below = GlobExpander::default().descendants(&root).unwrap();
    below.sort();
    assert_eq!(below, ["d", "d/a", "d/b", "d/c"].map(PathBuf::from));
    assert_eq!(GlobExpander { entries_left: 3 }.descendants(&root), None);
}
