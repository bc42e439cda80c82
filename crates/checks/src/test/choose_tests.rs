use std::path::Path;

use super::*;

fn folder(path: &str, files: &[(&str, &str)]) -> ProjectDir {
    let mut dir = ProjectDir { path: path.into(), ..ProjectDir::default() };
    for (name, text) in files {
        dir.names.insert((*name).to_owned());
        dir.texts.insert((*name).to_owned(), (*text).to_owned());
    }
    dir
}

fn survey(directories: Vec<ProjectDir>, below: &[&str], programs: &[&str]) -> ProjectSurvey {
    let here = directories[0].path.clone();
    ProjectSurvey {
        path: here.clone(),
        files: below.iter().map(|name| here.join(name)).collect(),
        dirs: directories,
        programs: programs
            .iter()
            .map(|name| ((*name).to_owned(), Path::new("/bin").join(name)))
            .collect(),
        ..ProjectSurvey::default()
    }
}

fn named(files: &[(&str, &str)], below: &[&str], programs: &[&str]) -> &'static str {
    choose_runner(&survey(vec![folder("/w", files)], below, programs), None).unwrap().runner.name
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
    let dirs = || vec![folder("/w/js", &[]), folder("/w", &[("test_sum.py", "")])];
    let file = |name: &str| ProjectSurvey {
        path: Path::new("/w/js").join(name),
        is_file: true,
        ..survey(dirs(), &[name], &["python3", "node"])
    };
    let choice = choose_runner(&file("a.test.js"), None).unwrap();
    assert_eq!((choice.runner.name, choice.target.as_str()), ("node", "./js/a.test.js"));
    assert_eq!(choose_runner(&file("test_b.py"), None).unwrap().runner.name, "unittest");
    assert_eq!(choose_runner(&file("a.ts"), None).err(), Some(RunnerError::NotConfigured));
}

#[test]
fn the_nearest_folder_counts_and_others_are_named() {
    let inner = folder("/w/web", &[("package.json", r#"{"scripts":{"test":"jest"}}"#)]);
    let outer = folder("/w", &[("Cargo.toml", "")]);
    let survey = survey(vec![inner, outer], &["a.js"], &["cargo"]);
    let choice = choose_runner(&survey, None).unwrap();
    assert_eq!((choice.runner.name, choice.dir.as_path()), ("jest", Path::new("/w/web")));
    assert_eq!(choice.alternatives, ["npm"]);
    let asked = choose_runner(&survey, Some("cargo")).unwrap();
    assert_eq!((asked.dir.as_path(), asked.target.as_str()), (Path::new("/w"), "./web"));
    assert!(matches!(choose_runner(&survey, Some("x")), Err(RunnerError::Unknown(_))));
    let empty = ProjectSurvey {
        dirs: vec![folder("/w", &[])],
        path: "/w".into(),
        ..ProjectSurvey::default()
    };
    assert!(matches!(choose_runner(&empty, None), Err(RunnerError::NotConfigured)));
}

#[test]
fn tests_are_run_from_the_root_of_their_project() {
    let plain = |path: &str| folder(path, &[]);
    let place = |dirs: Vec<ProjectDir>, name: &str, tool: Option<&str>| {
        let path = dirs[0].path.join(name);
        let survey = ProjectSurvey {
            path,
            is_file: true,
            ..survey(dirs, &[name], &["pytest", "python3", "node"])
        };
        let choice = choose_runner(&survey, tool).unwrap();
        (choice.runner.name, choice.dir.display().to_string(), choice.target)
    };
    let shown = |name, dir: &str, target: &str| (name, dir.to_owned(), target.to_owned());
    let settings = "[tool.pytest.ini_options]\n";
    let tests = || folder("/w/tests", &[("test_a.py", ""), ("conftest.py", "")]);
    let marked = || vec![tests(), folder("/w", &[("pyproject.toml", settings)])];
    let expected = shown("pytest", "/w", "./tests/test_a.py");
    assert_eq!(place(marked(), "test_a.py", None), expected);
    assert_eq!(place(marked(), "test_a.py", Some("pytest")), expected);
    let needs = folder("/w/tests", &[("requirements.txt", "pytest"), ("test_a.py", "")]);
    assert_eq!(place(vec![needs, folder("/w", &[("setup.py", "")])], "test_a.py", None), expected);
    // Nothing says where the root is: it is where one works, or the repository.
    assert_eq!(place(vec![tests(), plain("/w")], "test_a.py", None), expected);
    let repository = folder("/w/part", &[(".git", "")]);
    let inner = folder("/w/part/tests", &[("test_a.py", "")]);
    let deep = vec![inner, repository, plain("/w")];
    assert_eq!(place(deep, "test_a.py", None), shown("pytest", "/w/part", "./tests/test_a.py"));
    // A part with a manifest of its own is run there.
    let part = folder("/w/part", &[("pyproject.toml", "")]);
    let whole = folder("/w", &[("pyproject.toml", settings)]);
    let inner = folder("/w/part/tests", &[]);
    let parts = vec![inner, part, whole];
    assert_eq!(place(parts, "test_a.py", None), shown("pytest", "/w/part", "./tests/test_a.py"));
    // A manifest that only names the kind of modules says nothing of tests.
    let kind = folder("/w/test", &[("package.json", r#"{"type":"module"}"#)]);
    let whole = folder("/w", &[("package.json", r#"{"devDependencies":{"vitest":"1"}}"#)]);
    let found = place(vec![kind, whole], "a.test.js", None);
    assert_eq!(found, shown("vitest", "/w", "./test/a.test.js"));
}

#[test]
fn a_member_of_a_workspace_is_tested_as_the_workspace_is() {
    let member = folder("/w/crates/a", &[("Cargo.toml", "")]);
    let whole = folder("/w", &[("Cargo.toml", "[workspace]\n"), (".config", "")]);
    let survey = survey(
        vec![member, folder("/w/crates", &[]), whole],
        &["a.rs"],
        &["cargo", "cargo-nextest"],
    );
    let choice = choose_runner(&survey, None).unwrap();
    assert_eq!((choice.runner.name, choice.dir.as_path()), ("nextest", Path::new("/w/crates/a")));
}

#[test]
fn files_are_told_from_where_the_runner_runs() {
    let mut dirs = vec![folder("/w/part", &[("pyproject.toml", "")])];
    dirs.push(folder("/w", &[("pytest.ini", "")]));
    let choice = choose_runner(&survey(dirs, &["a.py"], &["pytest"]), None).unwrap();
    let stdout = "rootdir: /w\ncollected 1 item\n\npart/test_a.py::test_x PASSED [ 50%]\nother/b.py::y FAILED\n";
    let results = choice.parse(&CheckOutput { stdout, stderr: "", report: "" }, 124).unwrap();
    let shown: Vec<_> = results.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(shown, ["test_a.py::test_x", "/w/other/b.py::y"]);
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
    let shown = |choice: ChosenRunner| {
        let left: Vec<_> = choice
            .left_out
            .iter()
            .map(|(path, name)| format!("{name} {}", path.display()))
            .collect();
        (choice.runner.name, choice.dir, left.join(", "))
    };
    let chosen = shown(choose_runner(&mono, None).unwrap());
    assert_eq!(chosen, ("pytest", "/w/back".into(), "cargo /w/core, jest /w/web".to_owned()));
    let asked = shown(choose_runner(&mono, Some("cargo")).unwrap());
    assert_eq!(asked, ("cargo", "/w/core".into(), String::new()));
    let mixed = [&files[..], &["test_b.py"]].concat();
    let mixed = with_parts(survey(vec![folder("/w", &[])], &mixed, &programs), parts);
    let chosen = shown(choose_runner(&mixed, None).unwrap());
    assert_eq!(chosen, ("pytest", "/w".into(), "cargo /w/core, jest /w/web".to_owned()));
    let workspace = [("Cargo.toml", "[workspace]\nmembers = [\"core\"]\n")];
    let whole = with_parts(survey(vec![folder("/w", &workspace)], &files, &programs), parts);
    let chosen = shown(choose_runner(&whole, None).unwrap());
    assert_eq!(chosen, ("cargo", "/w".into(), "pytest /w/back, jest /w/web".to_owned()));
    assert_eq!(named(&[("Makefile", "check :\n\ttrue\n")], &["a.c"], &[]), "make");
    assert_eq!(named(&[("Makefile", "test := x\n")], &["x/a_test.go"], &[]), "go");
}
