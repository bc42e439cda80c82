use std::path::Path;

use super::*;

fn folder(path: &str, files: &[(&str, &str)]) -> Folder {
    let mut folder = Folder { path: path.into(), ..Folder::default() };
    for (name, text) in files {
        folder.names.insert((*name).to_owned());
        folder.texts.insert((*name).to_owned(), (*text).to_owned());
    }
    folder
}

fn survey(folders: Vec<Folder>, below: &[&str], programs: &[&str]) -> Survey {
    let here = folders[0].path.clone();
    Survey {
        path: here.clone(),
        files: below.iter().map(|name| here.join(name)).collect(),
        folders,
        programs: programs
            .iter()
            .map(|name| ((*name).to_owned(), Path::new("/bin").join(name)))
            .collect(),
        ..Survey::default()
    }
}

fn named(files: &[(&str, &str)], below: &[&str], programs: &[&str]) -> &'static str {
    choose(&survey(vec![folder("/w", files)], below, programs), None).unwrap().runner.name
}

#[test]
fn the_projects_own_runner_is_chosen() {
    let script = |text: &str| format!(r#"{{"scripts":{{"test":"{text}"}}}}"#);
    let (vitest, node, other) = (script("vitest run"), script("node --test"), script("ava"));
    let none = script("echo \\\"Error: no test specified\\\" && exit 1");
    assert_eq!(named(&[("pytest.ini", "")], &["a.py"], &[]), "pytest");
    assert_eq!(named(&[("pyproject.toml", "")], &["a.py"], &["python3"]), "unittest");
    assert_eq!(named(&[("pyproject.toml", "")], &["a.py"], &["python3", "pytest"]), "pytest");
    assert_eq!(
        named(&[("pyproject.toml", "dev = [\"pytest>=8\"]")], &["a.py"], &["python3"]),
        "pytest"
    );
    assert_eq!(named(&[("tox.ini", "[tox]\n")], &["a.py"], &[]), "tox");
    assert_eq!(named(&[("Cargo.toml", "")], &["a.rs"], &["cargo"]), "cargo");
    assert_eq!(named(&[("Cargo.toml", ""), (".config", "")], &["a.rs"], &["cargo"]), "cargo");
    assert_eq!(
        named(&[("Cargo.toml", ""), (".config", "")], &["a.rs"], &["cargo", "cargo-nextest"]),
        "nextest"
    );
    assert_eq!(named(&[("package.json", &vitest)], &["a.js"], &[]), "vitest");
    assert_eq!(
        named(&[("package.json", r#"{"devDependencies":{"jest":"1"}}"#)], &["a.js"], &[]),
        "jest"
    );
    assert_eq!(named(&[("package.json", &node)], &["a.js"], &[]), "node");
    assert_eq!(named(&[("package.json", &other)], &["a.js"], &[]), "npm");
    assert_eq!(named(&[("package.json", &none)], &["a.js"], &["node"]), "node");
    assert_eq!(named(&[("go.mod", "")], &["a.go"], &[]), "go");
    assert_eq!(named(&[("Makefile", "all:\n\ntest: all\n\ttrue\n")], &["a.c"], &[]), "make");
    assert_eq!(named(&[], &["x/a_test.go"], &[]), "go");
}

#[test]
fn a_file_is_never_given_to_a_runner_of_another_language() {
    let folders = || vec![folder("/w/js", &[]), folder("/w", &[("test_sum.py", "")])];
    let file = |name: &str| Survey {
        path: Path::new("/w/js").join(name),
        is_file: true,
        ..survey(folders(), &[name], &["python3", "node"])
    };
    let choice = choose(&file("a.test.js"), None).unwrap();
    assert_eq!((choice.runner.name, choice.folder.as_path()), ("node", Path::new("/w/js")));
    assert_eq!(choose(&file("test_b.py"), None).unwrap().runner.name, "unittest");
    assert_eq!(choose(&file("a.ts"), None).err(), Some(NoRunner::Unsaid));
}

#[test]
fn the_nearest_folder_counts_and_others_are_named() {
    let inner = folder("/w/web", &[("package.json", r#"{"scripts":{"test":"jest"}}"#)]);
    let outer = folder("/w", &[("Cargo.toml", "")]);
    let survey = survey(vec![inner, outer], &["a.js"], &["cargo"]);
    let choice = choose(&survey, None).unwrap();
    assert_eq!((choice.runner.name, choice.folder.as_path()), ("jest", Path::new("/w/web")));
    assert_eq!(choice.others, ["npm"]);
    let asked = choose(&survey, Some("cargo")).unwrap();
    assert_eq!((asked.folder.as_path(), asked.target.as_str()), (Path::new("/w"), "./web"));
    assert!(matches!(choose(&survey, Some("x")), Err(NoRunner::Unknown(_))));
    let empty = Survey { folders: vec![folder("/w", &[])], path: "/w".into(), ..Survey::default() };
    assert!(matches!(choose(&empty, None), Err(NoRunner::Unsaid)));
}

#[test]
fn some_tests_only() {
    let words = |name: &str, wish: Wish| {
        let runner = RUNNERS.iter().find(|runner| runner.name == name).unwrap();
        (runner.words)(&Wish { target: ".".to_owned(), report: "R".to_owned(), ..wish }).join(" ")
    };
    let filter = |text: &str| Wish { filter: Some(text.to_owned()), ..Wish::default() };
    let only = |names: &[&str]| Wish {
        only: names.iter().map(|n| (*n).to_owned()).collect(),
        ..Wish::default()
    };
    assert!(words("pytest", filter("one")).ends_with("--junitxml=R -k=one"));
    assert!(words("pytest", filter("a.py::test_x")).ends_with("--junitxml=R a.py::test_x"));
    assert!(words("jest", filter("a (b)")).ends_with(r"-t a \(b\)"));
    assert!(words("jest", only(&["a b", "c"])).ends_with("-t ^(a b|c)$"));
    assert!(words("cargo", only(&["a::b"])).ends_with("-- --exact a::b"));
    assert!(words("go", only(&["TestA/sub", "TestB"])).ends_with("-run ^(TestA|TestB)$ ./..."));
    assert!(words("unittest", only(&["a.A.x"])).ends_with("-k a.A.x"));
    assert!(words("node", filter("x.test.js")).ends_with("--test x.test.js"));
    assert!(words("node", only(&["s\u{1f}in", "top"])).ends_with("=^(s|in|s in|top)$"));
    let doc = words("cargo", only(&["src/lib.rs - a (line 1)", "t::x"]));
    assert!(doc.ends_with("-- src/lib.rs t::x"), "{doc}");
}

#[test]
fn parts_with_tests_of_their_own_are_run_or_named() {
    use crate::fixture::with_parts;
    let files = ["back/test_a.py", "core/src/lib.rs", "web/a.test.js"];
    let parts: &[(&str, &[(&str, &str)])] = &[
        ("back", &[("pytest.ini", "")]),
        ("core", &[("Cargo.toml", "")]),
        ("web", &[("package.json", r#"{"devDependencies":{"jest":"1"}}"#)]),
    ];
    let programs = ["pytest", "cargo", "node"];
    let mono = with_parts(survey(vec![folder("/w", &[])], &files, &programs), parts);
    let told = |choice: Choice| {
        let left: Vec<_> = choice
            .left_out
            .iter()
            .map(|(path, name)| format!("{name} {}", path.display()))
            .collect();
        (choice.runner.name, choice.folder, left.join(", "))
    };
    let chosen = told(choose(&mono, None).unwrap());
    assert_eq!(chosen, ("pytest", "/w/back".into(), "cargo /w/core, jest /w/web".to_owned()));
    let asked = told(choose(&mono, Some("cargo")).unwrap());
    assert_eq!(asked, ("cargo", "/w/core".into(), String::new()));
    let mixed = [&files[..], &["test_b.py"]].concat();
    let mixed = with_parts(survey(vec![folder("/w", &[])], &mixed, &programs), parts);
    let chosen = told(choose(&mixed, None).unwrap());
    assert_eq!(chosen, ("pytest", "/w".into(), "cargo /w/core, jest /w/web".to_owned()));
    let workspace = [("Cargo.toml", "[workspace]\nmembers = [\"core\"]\n")];
    let whole = with_parts(survey(vec![folder("/w", &workspace)], &files, &programs), parts);
    let chosen = told(choose(&whole, None).unwrap());
    assert_eq!(chosen, ("cargo", "/w".into(), "pytest /w/back, jest /w/web".to_owned()));
    assert_eq!(named(&[("Makefile", "check :\n\ttrue\n")], &["a.c"], &[]), "make");
    assert_eq!(named(&[("Makefile", "test := x\n")], &["x/a_test.go"], &[]), "go");
}
