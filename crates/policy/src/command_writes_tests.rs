use std::fs;

use hermes_core::WorkingDir;

use super::*;

/// A project and a folder outside of it, each with some files.
fn grounds() -> (tempfile::TempDir, PathBuf) {
    let held = tempfile::tempdir().unwrap();
    let root = held.path().canonicalize().unwrap();
    for name in
        ["in/a.txt", "in/b.bin", "in/x.o", "in/y.o", "in/src/deep/c", "out/a.txt", "in/target/t"]
    {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    (held, root)
}

/// What a command names: `+` before folders of which only it knows what it
/// makes in them.
fn named(root: &Path, command: &str) -> Vec<String> {
    let at = WorkingDir::new(root.join("in"), None);
    let command = command.replace("OUT", &root.join("out").to_string_lossy());
    let command = command.replace("IN", &root.join("in").to_string_lossy());
    let named = writes_of_leaves(hermes_shell::analyze(&command, &at).leaves.iter());
    let short = |path: &PathBuf| path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
    let filled = named.opaque_dirs.iter().map(|path| format!("+{}", short(path)));
    named.paths.iter().map(short).chain(filled).collect()
}

#[test]
fn what_comes_into_a_folder_is_named_by_its_name_there() {
    let (_held, root) = grounds();
    for (command, expected) in [
        ("cp a.txt OUT/", vec!["out/a.txt"]),
        ("cp a.txt OUT", vec!["out/a.txt"]),
        ("cp a.txt b.bin OUT", vec!["out/a.txt", "out/b.bin"]),
        ("cp -t OUT a.txt", vec!["out/a.txt"]),
        ("cd OUT && cp IN/a.txt .", vec!["out/a.txt"]),
        ("cp *.o OUT/", vec!["out/x.o", "out/y.o"]),
        ("cp a.txt OUT/new", vec!["out/new"]),
        ("install -m 644 a.txt OUT", vec!["out/a.txt"]),
        ("ln -sf IN/a.txt OUT/", vec!["out/a.txt"]),
        ("mv x.o OUT/", vec!["in/x.o", "out/x.o"]),
        ("mv a.txt target/", vec!["in/a.txt", "in/target/a.txt"]),
        ("cp -r src OUT", vec!["out/src", "out/src/deep", "out/src/deep/c"]),
        ("cp -rT src OUT", vec!["out/deep", "out/deep/c"]),
        ("cp -r src/. OUT", vec!["out/deep", "out/deep/c"]),
        ("rsync -a src/ OUT/", vec!["out/deep", "out/deep/c"]),
        ("rsync -a --delete src/ OUT/", vec!["out/deep", "out/deep/c", "+out"]),
        ("tar xf b.bin -C OUT", vec!["+out"]),
        ("cd OUT && tar xf IN/b.bin", vec!["+out"]),
        ("unzip b.bin -d OUT", vec!["+out"]),
        ("cp $(cat b.bin) OUT", vec!["+out"]),
        ("chown -R 1000 OUT", vec!["+out"]),
    ] {
        assert_eq!(named(&root, command), expected, "{command}");
    }
}

#[test]
fn what_a_pattern_finds_is_named() {
    let (_held, root) = grounds();
    for command in [
        "rm *.o",
        "rm [xy].o",
        "rm ?.o",
        "rm $(ls *.o)",
        "for f in *.o; do rm $f; done",
        "for f in *.o; do rm \"$f\"; done",
        "sed -i s/o/p/ *.o",
        "ls *.o | xargs rm",
        "truncate -s 0 *.o",
    ] {
        let found = named(&root, command);
        for name in ["in/x.o", "in/y.o"] {
            assert!(found.iter().any(|path| path == name), "{command}: {found:?}");
        }
    }
    for command in ["rm -rf *", "rm -rf */"] {
        let found = named(&root, command);
        assert!(found.iter().any(|path| path == "in/target"), "{command}: {found:?}");
    }
    assert_eq!(named(&root, "sed -i s/o/q/ OUT/*.txt"), ["out/a.txt"]);
}

#[test]
fn a_pattern_leaves_the_rest_of_its_folder_alone() {
    let (_held, root) = grounds();
    fs::write(root.join("out/other"), "").unwrap();
    assert_eq!(named(&root, "rm OUT/a.*"), ["out/a.txt"]);
    assert_eq!(named(&root, "cd OUT; for f in a*; do rm $f; done"), ["out/a.txt"]);
    assert_eq!(named(&root, "rm -rf OUT/a.* OUT"), ["out", "out/a.txt"]);
    assert_eq!(named(&root, "find OUT -delete"), ["out"]);
    // What is only made by the command is found by nobody before.
    assert_eq!(named(&root, "rm OUT/*.none"), [""; 0]);
}
