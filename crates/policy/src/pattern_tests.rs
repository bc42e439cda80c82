#![allow(clippy::unwrap_used)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hermes_core::Scope;
use proptest::prelude::*;

use super::{NamePattern, PathPattern, PathVariables, ScopePattern, SpellingMode, fold_path};

fn places() -> PathVariables {
    PathVariables {
        workspace: Some("/ws/project".into()),
        home: Some("/users/me".into()),
        hermes: "/users/me/.hermes".into(),
        temp: vec!["/t1".into(), "/t2".into()],
    }
}

fn exact(text: &str) -> PathPattern {
    PathPattern::parse(text, &places(), SpellingMode::Exact).unwrap()
}

fn refused(text: &str, path: &str) -> bool {
    let pattern = PathPattern::parse(text, &places(), SpellingMode::Loose).unwrap();
    // As rules are asked: by the folded path and by the path itself.
    pattern.matches(&fold_path(Path::new(path))) || pattern.matches(Path::new(path))
}

fn allows(text: &str, path: &str) -> bool {
    exact(text).matches(Path::new(path))
}

#[test]
fn scopes_are_one_a_family_or_all() {
    let matches =
        |pattern: &str, scope: &Scope| ScopePattern::parse(pattern).unwrap().matches(scope);
    assert!(matches("*", &Scope::EMAIL_SEND));
    assert!(matches("file:*", &Scope::FILE_READ) && !matches("file:*", &Scope::GIT_READ));
    assert!(matches("file:read", &Scope::FILE_READ) && !matches("file:read", &Scope::FILE_WRITE));
    assert!(matches("mcp:*", &Scope::named("mcp:github")));
    assert!(!matches("mcp:git", &Scope::named("mcp:github")));
    for wrong in
        ["", "file", "file:", ":read", "file:re*", "fil:*", "file:read:x", "* ", "**", "file:\n*"]
    {
        assert!(ScopePattern::parse(wrong).is_err(), "{wrong:?}");
    }
    assert!(ScopePattern::parse("file:raed").unwrap_err().contains("file:read"));
}

#[test]
fn names_stand_for_folders() {
    assert!(
        allows("${workspace}/**", "/ws/project/a/b") && allows("${workspace}/**", "/ws/project")
    );
    assert!(!allows("${workspace}/**", "/ws/project2/a"));
    assert!(allows("${home}/x", "/users/me/x") && allows("~/x", "/users/me/x"));
    assert!(allows("~", "/users/me") && !allows("~", "/users/me/x"));
    assert!(allows("${hermes}/cache/*", "/users/me/.hermes/cache/x"));
    assert!(allows("${tmp}/*.log", "/t1/a.log") && allows("${tmp}/*.log", "/t2/a.log"));
    assert!(
        allows("src/*.rs", "/ws/project/src/a.rs") && allows("./src/*.rs", "/ws/project/src/a.rs")
    );
    assert!(!allows("src/*.rs", "/ws/project/src/deep/a.rs"));
    assert!(allows("**/a.rs", "/anywhere/at/all/a.rs"));
    for wrong in ["", "${workspace", "${other}/x", "~somebody/x", "/a/[", "/a/{b", "/a/*/../b"] {
        assert!(PathPattern::parse(wrong, &places(), SpellingMode::Exact).is_err(), "{wrong:?}");
    }
}

#[test]
fn what_is_not_there_matches_nothing() {
    let nowhere = PathVariables { workspace: None, home: None, ..places() };
    for text in ["${workspace}/**", "src/**", "~/x"] {
        let pattern = PathPattern::parse(text, &nowhere, SpellingMode::Exact).unwrap();
        assert!(
            !pattern.matches(Path::new("/")) && !pattern.matches(Path::new("/src/x")),
            "{text}"
        );
        assert!(pattern.trees().is_empty());
    }
    assert!(PathPattern::parse("${home}/x", &nowhere, SpellingMode::Exact).is_err());
}

#[test]
fn a_slash_at_the_end_and_slashes_too_many_change_nothing() {
    for text in ["/a/secrets/", "/a//secrets/**", "/a/./secrets/**", "/a/secrets/./**"] {
        assert!(refused(text, "/a/secrets") && refused(text, "/a/secrets/deep/key"), "{text}");
        assert!(allows(text, "/a/secrets/deep/key") && !allows(text, "/a/secrets2"), "{text}");
    }
    assert!(allows("${workspace}/", "/ws/project/x") && allows("~/", "/users/me/x"));
    assert!(allows("/", "/any/thing") && allows("/**", "/"));
}

#[test]
fn who_refuses_a_folder_refuses_what_is_in_it() {
    assert!(refused("/a/secrets", "/a/secrets/key"));
    assert!(refused("/a/secret*", "/a/secrets/deep/key"));
    assert!(!refused("/a/secrets", "/a/secrets2/key"));
    assert!(!allows("/a/secrets", "/a/secrets/key"), "what is allowed is as it is written");
}

#[test]
fn refusals_see_through_spelling_and_permissions_do_not() {
    let spellings = [
        "/a/SECRETS/key",
        "/a/Secrets",
        "/a/secrets./key",
        "/a/secrets. /key",
        "/a/se\u{200b}crets/key",
        "/a/se\u{206a}crets",
        "/a/se\u{fe0f}crets",
        "/a/\u{ff53}ecrets",
        "/a/\u{17f}ecrets",
        "/a/secret\u{e0020}s",
        "/a/se\u{ad}crets/x",
    ];
    for path in spellings {
        assert!(refused("/a/secrets/**", path), "{path:?}");
        assert!(!allows("/a/secrets/**", path), "{path:?}");
    }
    assert!(refused("/a/Secrets/**", "/a/secrets/x"), "the rule, too, in any spelling");
    assert!(refused("/a/caf\u{e9}/**", "/a/cafe\u{301}/x"));
}

#[test]
fn links_in_the_fixed_part_are_followed() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("real/in")).unwrap();
    symlink(root.join("real"), root.join("link")).unwrap();
    for rest in ["/**", "/in/*.rs", "/in/../in/a.rs"] {
        let text = format!("{}/link{rest}", root.display());
        let pattern = PathPattern::parse(&text, &places(), SpellingMode::Exact).unwrap();
        assert!(pattern.matches(&root.join("real/in/a.rs")), "{text}");
        assert!(!pattern.matches(&root.join("other/in/a.rs")), "{text}");
    }
    let above = format!("{}/real/in/../../other/**", root.display());
    let above = PathPattern::parse(&above, &places(), SpellingMode::Loose).unwrap();
    assert!(above.matches(&fold_path(&root.join("other/x"))));
}

#[test]
fn a_folder_may_have_any_name() {
    let root = tempfile::tempdir().unwrap();
    let odd = root.path().canonicalize().unwrap().join("a[1]{b}*?\\c");
    std::fs::create_dir_all(&odd).unwrap();
    let places = PathVariables { workspace: Some(odd.clone()), ..places() };
    for spelling in [SpellingMode::Exact, SpellingMode::Loose] {
        let pattern = PathPattern::parse("${workspace}/**", &places, spelling).unwrap();
        assert!(pattern.matches(&odd.join("x")), "{spelling:?}");
        assert!(!pattern.matches(&odd.with_file_name("a1b")));
        assert_eq!(pattern.trees(), std::slice::from_ref(&odd));
    }
}

#[test]
fn only_whole_trees_are_trees() {
    assert_eq!(exact("/a/b/**").trees(), [PathBuf::from("/a/b")]);
    assert_eq!(exact("${tmp}/**").trees(), [PathBuf::from("/t1"), PathBuf::from("/t2")]);
    assert_eq!(exact("/**").trees(), [PathBuf::from("/")]);
    for partial in
        ["/a/b", "/a/*.rs", "/a/**/b", "/a/*/**", "/a/[bc]/**", "/a/{b,c}/**", "**/x", "/a/b/**/*"]
    {
        assert!(exact(partial).trees().is_empty(), "{partial}");
    }
    assert_eq!(exact("/a/b").single_paths(), [PathBuf::from("/a/b")]);
    assert!(exact("/a/*").single_paths().is_empty());
    assert!(
        exact("/a/b/**").has_path_below(Path::new("/a"))
            && !exact("/a/b/**").has_path_below(Path::new("/a/b/c"))
    );
}

#[test]
fn names_are_globs_in_any_case() {
    let host = NamePattern::parse("*.Example.com").unwrap();
    assert!(
        host.matches("api.example.COM")
            && !host.matches("example.com")
            && !host.matches("api.example.com.evil.net")
    );
    assert!(NamePattern::parse("[").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_pattern_or_an_error(text in "\\PC{0,40}", path in "/\\PC{0,40}") {
        for spelling in [SpellingMode::Exact, SpellingMode::Loose] {
            if let Ok(pattern) = PathPattern::parse(&text, &places(), spelling) {
                pattern.matches(Path::new(&path));
            }
        }
    }

    /// What a permission matches, the same pattern as a refusal matches.
    #[test]
    fn refusals_are_no_narrower_than_permissions(
        text in "/(a|b|\\*|\\*\\*)(/(a|B|c\\.|\\*|\\*\\*)){0,3}/?", path in "/(a|b)(/(a|B|c\\.|d)){0,4}",
    ) {
        prop_assert!(!allows(&text, &path) || refused(&text, &path), "{text} {path}");
    }

    #[test]
    fn folding_twice_is_folding_once(path in "/[a-zA-Z\u{e9}\u{200b}./ ]{0,30}") {
        let once = fold_path(Path::new(&path)).into_owned();
        prop_assert_eq!(fold_path(&once).into_owned(), once);
    }
}
