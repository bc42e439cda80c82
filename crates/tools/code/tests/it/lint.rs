//! Real linters on small projects with known problems.

use serde_json::json;

use crate::checks::{Project, brief, has};

const MANIFEST: (&str, &str) =
    ("Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");

#[tokio::test(flavor = "multi_thread")]
async fn ruff_and_mypy_of_the_project() {
    let settings =
        "[tool.ruff]\nline-length = 90\n[tool.ruff.lint]\nselect = [\"E\", \"F\"]\n[tool.mypy]\n";
    let Some(project) = Project::python(&[
        ("pyproject.toml", settings),
        ("a.py", "import os\n\n\ndef f(x: int) -> str:\n    return x\n"),
        ("sub dir/b.py", "def g():\n    return missing\n"),
    ]) else {
        return;
    };
    let answer = project.call("code_lint", json!({})).await;
    let expected =
        ["a.py:1:8 error F401", "a.py:5:12 error return-value", "sub dir/b.py:2:12 error F821"];
    let found = brief(&answer);
    for line in expected {
        assert!(found.contains(&line.to_owned()), "{line}: {answer:#}");
    }
    assert_eq!(answer["findings"][0]["fix"], "Remove unused import: `os`", "{answer:#}");
    assert_eq!(answer["findings"][0]["end_column"], 10);
    let tools: Vec<_> =
        answer["tools"].as_array().unwrap().iter().map(|run| &run["tool"]).collect();
    assert_eq!(tools, ["ruff", "mypy"]);
    assert_eq!(answer["total"].as_u64().unwrap() as usize, found.len());

    let one = project.call("code_lint", json!({ "path": "sub dir/b.py", "tool": "ruff" })).await;
    assert_eq!(brief(&one), ["sub dir/b.py:2:12 error F821"]);
    let bounded = project.call("code_lint", json!({ "limit": 1 })).await;
    assert_eq!(bounded["findings"].as_array().unwrap().len(), 1, "{bounded:#}");
    assert_eq!((&bounded["total"], &bounded["truncated"]), (&answer["total"], &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn ruff_mends_what_it_can_and_shows_it() {
    let Some(project) = Project::python(&[
        ("ruff.toml", "[lint]\nselect = [\"F\"]\n"),
        ("a.py", "import os\nimport sys\n\nprint(sys.path, nowhere)\n"),
    ]) else {
        return;
    };
    let answer = project.call("code_lint", json!({ "fix": true })).await;
    assert_eq!(brief(&answer), ["a.py:3:17 error F821"], "{answer:#}");
    assert_eq!((&answer["fixed"], &answer["total"]), (&json!(1), &json!(1)), "{answer:#}");
    assert_eq!(
        answer["files_changed"],
        json!([{"file": "a.py", "lines_added": 0, "lines_removed": 1}])
    );
    assert!(answer["diff"].as_str().unwrap().contains("\n-import os\n"), "{answer:#}");
    assert_eq!(project.read("a.py"), "import sys\n\nprint(sys.path, nowhere)\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_new_to_a_baseline_or_to_a_commit() {
    let Some(project) = Project::python(&[
        ("ruff.toml", "[lint]\nselect = [\"F\"]\n"),
        ("a.py", "import os\n\nx = 1\n"),
    ]) else {
        return;
    };
    let saved = project.call("code_lint", json!({ "save_baseline": true })).await;
    assert_eq!(saved["total"], 1, "{saved:#}");
    project.write("a.py", "# moved\n\nimport os\n\nx = nowhere\n");
    let answer = project.call("code_lint", json!({ "only_new": true })).await;
    assert_eq!(brief(&answer), ["a.py:5:5 error F821"], "{answer:#}");
    assert_eq!(answer["known"], 1);
    assert!(answer["compared_to"].as_str().unwrap().contains("baseline"), "{answer:#}");
    // A baseline of a directory covers its files.
    let answer = project.call("code_lint", json!({ "only_new": true, "path": "a.py" })).await;
    assert_eq!(brief(&answer), ["a.py:5:5 error F821"], "{answer:#}");
    assert!(answer["compared_to"].as_str().unwrap().contains("baseline"), "{answer:#}");

    if !has("git") {
        return;
    }
    let refused = project.call("code_lint", json!({ "since": "HEAD" })).await;
    assert_eq!(refused["kind"], "conflict", "no repository: {refused}");
    project.git(&["init", "-q"]);
    project.write(".gitignore", ".venv\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "one"]);
    let answer = project.call("code_lint", json!({ "since": "HEAD" })).await;
    assert_eq!((&answer["total"], &answer["known"]), (&json!(0), &json!(2)), "{answer:#}");
    project.write("a.py", "# moved\n\nimport os\n\nx = nowhere\ny = elsewhere\n");
    project.write("new.py", "import sys\n");
    let answer = project.call("code_lint", json!({ "since": "HEAD" })).await;
    assert_eq!(brief(&answer), ["a.py:6:5 error F821", "new.py:1:8 error F401"], "{answer:#}");
    let refused = project.call("code_lint", json!({ "since": "--output=x" })).await;
    assert_eq!(refused["kind"], "invalid_arguments", "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_linters_of_python_and_yaml() {
    let Some(project) = Project::python(&[
        (".flake8", "[flake8]\nexclude = .venv\n"),
        ("a.py", "import os\nx=1\n"),
        (".yamllint", "extends: default\nignore: .venv\n"),
        ("a.yaml", "a: 1\na: 2\n"),
    ]) else {
        return;
    };
    let answer = project.call("code_lint", json!({})).await;
    let found = brief(&answer);
    for line in ["a.py:1:1 error F401", "a.py:2:2 warning E225", "a.yaml:2:1 error key-duplicates"]
    {
        assert!(found.contains(&line.to_owned()), "{line}: {answer:#}");
    }
    let pylint = project.call("code_lint", json!({ "tool": "pylint", "path": "a.py" })).await;
    assert!(brief(&pylint).contains(&"a.py:1:1 warning unused-import".to_owned()), "{pylint:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn eslint_and_tsc_of_the_project() {
    let rules = r#"module.exports = [{rules: {"no-unused-vars": "error", "no-var": "warn"}}];"#;
    let Some(project) = Project::node(&[
        ("package.json", r#"{"name":"x"}"#),
        ("eslint.config.js", rules),
        ("a.js", "var x = 1;\n"),
        ("tsconfig.json", r#"{"compilerOptions":{"strict":true,"types":[]},"include":["*.ts"]}"#),
        ("b.ts", "export const n: number = 'one';\n"),
    ]) else {
        return;
    };
    let answer = project.call("code_lint", json!({})).await;
    let expected =
        ["a.js:1:1 warning no-var", "a.js:1:5 error no-unused-vars", "b.ts:1:14 error TS2322"];
    assert_eq!(brief(&answer), expected, "{answer:#}");
    assert_eq!((&answer["errors"], &answer["warnings"]), (&json!(2), &json!(1)));
    let fixed = project.call("code_lint", json!({ "path": "a.js", "fix": true })).await;
    assert_eq!(project.read("a.js"), "let x = 1;\n", "{fixed:#}");
    project.write("eslint.config.js", "throw new Error('no settings');");
    let broken = project.call("code_lint", json!({ "path": "a.js" })).await;
    assert_eq!(broken["kind"], "conflict", "{broken}");
    assert!(broken["error"].as_str().unwrap().contains("no settings"), "{broken}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clippy_in_a_package_of_a_workspace() {
    let project = Project::of(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"one\", \"two\"]\nresolver = \"2\"\n"),
        ("one/Cargo.toml", MANIFEST.1),
        ("one/src/lib.rs", "pub fn f(x: i32) -> i32 {\n    return x;\n}\n"),
        ("two/Cargo.toml", "[package]\nname = \"two\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("two/src/lib.rs", "pub fn g() {\n    let x = 1;\n}\n"),
    ]);
    let answer = project.call("code_lint", json!({ "path": "one" })).await;
    assert_eq!(
        brief(&answer),
        ["one/src/lib.rs:2:5 warning clippy::needless_return"],
        "{answer:#}"
    );
    assert!(answer["findings"][0]["fix"].as_str().unwrap().starts_with("remove `return`"));
    let all = project.call("code_lint", json!({})).await;
    assert_eq!(brief(&all).len(), 2, "{all:#}");
    project.write("one/src/lib.rs", "pub fn f() -> i32 {\n    \"x\"\n}\n");
    let broken = project.call("code_lint", json!({ "path": "one" })).await;
    assert_eq!(brief(&broken), ["one/src/lib.rs:2:5 error E0308"], "{broken:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shellcheck_on_scripts_of_a_folder() {
    if !has("shellcheck") {
        return;
    }
    let project = Project::of(&[
        ("a b.sh", "#!/bin/sh\necho $1\n"),
        ("node_modules/x/y.sh", "#!/bin/sh\necho $1\n"),
    ]);
    let answer = project.call("code_lint", json!({})).await;
    assert_eq!(brief(&answer), ["a b.sh:2:6 info SC2086"], "{answer:#}");
    assert_eq!(answer["findings"][0]["fix"], "insert `\"` and `\"`");
    let clean = project.call("code_lint", json!({ "path": "a b.sh", "tool": "shellcheck" })).await;
    assert_eq!(clean["total"], 1, "{clean:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_linters_of_the_web() {
    let Some(project) = Project::node(&[
        ("package.json", r#"{"name":"x"}"#),
        ("biome.json", "{}"),
        ("a.js", "const x = 1;\nif (x == 2) debugger;\n"),
        (".markdownlint.json", r#"{"default":true}"#),
        ("a.md", "# A\n\n### C\n\ntext\n"),
        (".stylelintrc.json", r#"{"rules":{"color-named":"never"}}"#),
        ("a.css", "a { color: red; }\n"),
    ]) else {
        return;
    };
    let answer = project.call("code_lint", json!({})).await;
    let expected = [
        "a.css:1:12 error color-named",
        "a.js:2:7 error lint/suspicious/noDoubleEquals",
        "a.js:2:13 error lint/suspicious/noDebugger",
        "a.md:3:null warning MD001",
    ];
    assert_eq!(brief(&answer), expected, "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn clippy_mends_what_it_is_sure_of() {
    if !has("cargo-clippy") {
        return;
    }
    let code = "pub fn a() -> i32 {\r\n    return 1;\r\n}\r\n\r\npub fn b(x: &Vec<u8>) -> usize {\r\n    x.len()\r\n}\r\n";
    let project = Project::of(&[MANIFEST, ("src/lib.rs", code)]);
    let answer = project.call("code_lint", json!({ "fix": true })).await;
    assert_eq!(answer["fixed"], 1, "{answer:#}");
    let repaired = project.read("src/lib.rs");
    assert!(repaired.starts_with("pub fn a() -> i32 {\r\n    1\r\n}\r\n"), "{repaired:?}");
    assert!(answer["diff"].as_str().unwrap().contains("return 1;"), "{answer:#}");
    assert_eq!(answer["files_changed"][0]["file"], "src/lib.rs", "{answer:#}");
    let lines = answer["findings"].as_array().unwrap();
    assert!(lines.iter().all(|one| one["rule"] != "clippy::needless_return"), "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_project_are_linted_by_their_own_tools() {
    if !has("cargo-clippy") {
        return;
    }
    let project = Project::of(&[
        ("core/Cargo.toml", MANIFEST.1),
        ("core/src/lib.rs", "pub fn one() -> i32 {\n    return 1;\n}\n"),
    ]);
    let answer = project.call("code_lint", json!({})).await;
    assert_eq!(answer["tools"][0]["directory"], "core", "{answer:#}");
    assert_eq!(brief(&answer), ["core/src/lib.rs:2:5 warning clippy::needless_return"]);
    let outside = project.call("code_lint", json!({ "only_new": true })).await;
    assert_eq!(outside["kind"], "conflict", "{outside:#}");
    assert!(outside["error"].as_str().unwrap().contains("not in a git repository"), "{outside:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_files_that_a_project_names_are_linted() {
    let wrong = "def f() -> int:\n    return 'x'\n";
    let Some(project) = Project::python(&[
        ("pyproject.toml", "[tool.mypy]\nfiles = ['src']\n"),
        ("src/a.py", wrong),
        ("tests/b.py", wrong),
    ]) else {
        return;
    };
    let all = project.call("code_lint", json!({ "tool": "mypy" })).await;
    assert_eq!(brief(&all), ["src/a.py:2:12 error return-value"], "{all:#}");
    let asked = project.call("code_lint", json!({ "tool": "mypy", "path": "tests" })).await;
    assert_eq!(brief(&asked), ["tests/b.py:2:12 error return-value"], "{asked:#}");
    project.write("pyproject.toml", "");
    project.write("mypy.ini", "[mypy]\nfiles =\n    tests\n");
    let ini = project.call("code_lint", json!({ "tool": "mypy" })).await;
    assert_eq!(brief(&ini), ["tests/b.py:2:12 error return-value"], "{ini:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_known_by_its_first_line() {
    if !has("shellcheck") {
        return;
    }
    let project = Project::of(&[
        ("bin/run", "#!/usr/bin/env bash\necho $1\n"),
        ("bin/other", "#!/usr/bin/python3\nimport os\n"),
        ("plain", "echo $1\n"),
    ]);
    for path in [".", "bin/run"] {
        let answer = project.call("code_lint", json!({ "path": path })).await;
        assert_eq!(brief(&answer), ["bin/run:2:6 info SC2086"], "{path}: {answer:#}");
    }
}
