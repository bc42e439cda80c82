#![allow(clippy::unwrap_used)]

use super::*;

fn fits(glob: &str, path: &str) -> bool {
    PathGlob::new(glob, false).unwrap().matches(Path::new(path))
}

#[test]
fn names_match_at_any_depth_and_exactly() {
    assert!(fits("config.py", "config.py") && fits("config.py", "a/b/config.py"));
    assert!(!fits("config.py", "myconfig.py") && !fits("config.py", "config.pyc"));
    assert!(fits("*.py", "a/b.py") && !fits("*.py", "a/b.pyc"));
    assert!(fits("{a,b}.txt", "x/b.txt") && !fits("{a,b}.txt", "c.txt"));
    assert!(fits("file{,.bak}", "file") && fits("file{,.bak}", "file.bak"));
}

#[test]
fn paths_are_meant_from_the_root() {
    assert!(fits("src/**/*.py", "src/a/b/c.py") && fits("src/**/*.py", "src/c.py"));
    assert!(!fits("src/**/*.py", "lib/src/c.py") && !fits("src/*.py", "src/a/c.py"));
    assert!(fits("**/src/*.py", "lib/src/c.py"));
    assert!(fits("/a.md", "a.md") && !fits("/a.md", "b/a.md"));
    assert!(fits("./*.md", "a.md") && !fits("./*.md", "b/a.md"));
}

#[test]
fn a_simple_glob_means_the_same_as_any_other() {
    let names = ["", "a", "a.py", ".py", "py", "a.pyc", "ba.py", "a*", "*a", "a b.py", "a\nb.py"];
    let globs = ["a.py", "*.py", "a*", "*", "**", "*a", "a", "a.*", "*a*", "?.py", "\\*a", "a,b"];
    for glob in globs {
        let by_name = PathGlob::new(glob, false).unwrap();
        let anywhere = PathGlob::new(&format!("**/{glob}"), false).unwrap();
        let plain = GlobBuilder::new(glob).literal_separator(true).build().unwrap();
        let plain = plain.compile_matcher();
        for name in names {
            let expected = !name.is_empty() && plain.is_match(name);
            for path in [name.to_owned(), format!("x/{name}"), format!("x/a.py/{name}")] {
                let path = Path::new(&path);
                if path.file_name() != Some(OsStr::new(name)) {
                    continue;
                }
                assert_eq!(by_name.matches(path), expected, "{glob} {path:?}");
                assert_eq!(anywhere.matches(path), expected, "**/{glob} {path:?}");
            }
        }
    }
    assert!(fits("a/b", "a/b") && !fits("a/b", "x/a/b") && !fits("a/b", "b"));
    assert!(fits("a/*", "a/b") && !fits("a/*", "a/b/c"));
}

#[test]
fn case_matters_unless_told() {
    assert!(!fits("readme*", "README.md"));
    assert!(PathGlob::new("readme*", true).unwrap().matches(Path::new("docs/README.md")));
}

#[test]
fn a_broken_glob_is_told() {
    let error = PathGlob::new("a[", false).unwrap_err();
    assert!(matches!(&error, SearchError::Glob { glob, .. } if glob == "a["), "{error}");
}

#[test]
fn commas_split_outside_of_braces() {
    for (text, expected) in [
        ("*.rs", vec!["*.rs"]),
        ("*.rs, *.toml,", vec!["*.rs", "*.toml"]),
        ("*.{ts,tsx},!*.min.js", vec!["*.{ts,tsx}", "!*.min.js"]),
        ("[a,b].c,x", vec!["[a,b].c", "x"]),
        ("a\\,b", vec!["a\\,b"]),
        ("{a", vec!["{a"]),
        ("}a,b", vec!["}a", "b"]),
        (" , ", vec![]),
    ] {
        assert_eq!(split_globs(text), expected, "{text}");
    }
}
