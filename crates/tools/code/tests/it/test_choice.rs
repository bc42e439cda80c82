//! Which tests are run, and where.

use serde_json::{Value, json};

use crate::checks::{Project, has};

/// Status, passed, failed, errors.
fn counts(answer: &Value) -> (&str, [u64; 3]) {
    let status = answer["status"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
    (status, ["passed", "failed", "errors"].map(|field| answer[field].as_u64().unwrap()))
}

const SETTINGS: (&str, &str) = ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-q'\n");
const PLACE: &str = "def test_rel():\n    assert open('data/x.txt').read() == '1'\n\n\ndef test_bad():\n    assert 0\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_path_does_not_change_where_tests_run() {
    let files =
        [SETTINGS, ("data/x.txt", "1"), ("tests/conftest.py", ""), ("tests/test_rel.py", PLACE)];
    let Some(project) = Project::python(&files) else { return };
    for arguments in [
        json!({}),
        json!({ "path": "tests" }),
        json!({ "path": "tests/test_rel.py" }),
        json!({ "path": "tests/test_rel.py", "tool": "pytest" }),
        json!({ "filter": "test_rel.py" }),
    ] {
        let answer = project.call("code_test", arguments.clone()).await;
        assert_eq!(counts(&answer), ("failed", [1, 1, 0]), "{arguments} {answer:#}");
        assert_eq!(answer["directory"], ".", "{arguments} {answer:#}");
        assert_eq!(answer["failures"][0]["file"], "tests/test_rel.py", "{arguments} {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_in_a_file_is_run_again() {
    let other = "def test_other():\n    assert 0\n";
    let files = [
        SETTINGS,
        ("data/x.txt", "1"),
        ("tests/test_rel.py", PLACE),
        ("tests/test_other.py", other),
    ];
    let Some(project) = Project::python(&files) else { return };
    let call = async |arguments: Value| project.call("code_test", arguments).await;
    let one = call(json!({ "path": "tests/test_rel.py" })).await;
    assert_eq!(counts(&one), ("failed", [1, 1, 0]), "{one:#}");
    let again = call(json!({ "path": "tests/test_rel.py", "failed_only": true })).await;
    assert_eq!(counts(&again), ("failed", [0, 1, 0]), "{again:#}");
    let without = call(json!({ "failed_only": true })).await;
    assert_eq!(counts(&without), ("failed", [0, 1, 0]), "the same without the path: {without:#}");
    let all = call(json!({})).await;
    assert_eq!(counts(&all), ("failed", [1, 2, 0]), "{all:#}");
    let some = call(json!({ "path": "tests/test_other.py", "failed_only": true })).await;
    assert_eq!(counts(&some), ("failed", [0, 1, 0]), "{some:#}");
    project.write("tests/test_other.py", "def test_other():\n    pass\n");
    let repaired = call(json!({ "path": "tests/test_other.py" })).await;
    assert_eq!(counts(&repaired), ("passed", [1, 0, 0]), "{repaired:#}");
    let rest = call(json!({ "failed_only": true })).await;
    assert_eq!(counts(&rest), ("failed", [0, 1, 0]), "the other is not forgotten: {rest:#}");
    let none = call(json!({ "path": "tests/test_other.py", "failed_only": true })).await;
    assert_eq!(none["kind"], "conflict", "{none:#}");
    // A failed run discards nothing.
    project.write("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--nonesuch'\n");
    let broken = call(json!({})).await;
    assert_eq!(counts(&broken).0, "error", "{broken:#}");
    project.write("pyproject.toml", SETTINGS.1);
    let kept = call(json!({ "failed_only": true })).await;
    assert_eq!(counts(&kept), ("failed", [0, 1, 0]), "{kept:#}");
}

const CLASSES: &str = "import pytest\n\n\nclass TestA:\n    def test_m(self):\n        pass\n\n    @pytest.mark.parametrize('n', [1, 2])\n    def test_p(self, n):\n        assert n == 1\n\n\nclass TestB:\n    def test_m(self):\n        assert 0\n\n\ndef test_m2():\n    assert 0\n";

#[tokio::test(flavor = "multi_thread")]
async fn one_test_of_pytest_runs_alone() {
    let files = [
        SETTINGS,
        ("tests/test_a.py", CLASSES),
        ("tests/test_ab.py", "def test_m():\n    assert 0\n"),
    ];
    let Some(project) = Project::python(&files) else { return };
    let one = ("passed", [1, 0, 0]);
    let cases = [
        (json!({ "path": "tests/test_a.py::TestA::test_m" }), one),
        (json!({ "path": "tests/test_a.py", "filter": "TestA::test_m" }), one),
        (json!({ "path": "tests", "filter": "test_a.py::TestA::test_m" }), one),
        (json!({ "filter": "tests/test_a.py::TestA::test_m" }), one),
        (json!({ "filter": "TestA::test_m" }), one),
        (json!({ "path": "tests/test_a.py::TestA::test_p[1]" }), one),
        (json!({ "path": "tests/test_a.py::TestA" }), ("failed", [2, 1, 0])),
        (json!({ "path": "tests/test_a.py::test_m2" }), ("failed", [0, 1, 0])),
        (json!({ "filter": "test_ab.py" }), ("failed", [0, 1, 0])),
        // No test has exactly this name.
        (json!({ "path": "tests/test_a.py::test_p" }), ("failed", [1, 1, 0])),
        (json!({ "path": "tests/test_a.py::nonesuch" }), ("no_tests", [0, 0, 0])),
    ];
    for (arguments, expected) in cases {
        let answer = project.call("code_test", arguments.clone()).await;
        assert_eq!(counts(&answer), expected, "{arguments} {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_test_of_unittest_runs_alone() {
    let text = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_m(self):\n        pass\n\n    def test_m2(self):\n        self.fail()\n\n\nclass B(unittest.TestCase):\n    def test_m(self):\n        self.fail()\n";
    let project = Project::of(&[("pyproject.toml", ""), ("tests/test_a.py", text)]);
    for (path, expected) in [
        ("tests/test_a.py::A::test_m", ("passed", [1, 0, 0])),
        ("tests/test_a.py::A", ("failed", [1, 1, 0])),
        ("tests/test_a.py::test_m", ("failed", [1, 1, 0])),
        ("tests/test_a.py::m2", ("failed", [0, 1, 0])),
    ] {
        let answer = project.call("code_test", json!({ "path": path, "tool": "unittest" })).await;
        assert_eq!(counts(&answer), expected, "{path} {answer:#}");
        assert_eq!(answer["directory"], ".", "{path} {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_test_of_javascript_runs_alone() {
    let body = "test('bad', () => {});\ntest('bad too', () => { throw new Error('x'); });\ndescribe('group', () => {\n  test('bad', () => { throw new Error('x'); });\n  test('ok', () => {});\n});\n";
    let vitest = format!("import {{ test, describe }} from 'vitest';\n{body}");
    let node = format!("const {{ test, describe }} = require('node:test');\n{body}");
    let mocha = body.replace("test(", "it(");
    let cases = [
        ("jest", "unit/a.test.js", body),
        ("vitest", "unit/a.test.mjs", vitest.as_str()),
        ("mocha", "test/a.js", mocha.as_str()),
        ("node --test", "unit/a.test.js", node.as_str()),
    ];
    for (tool, file, text) in cases {
        let manifest = format!("{{\"name\":\"x\",\"scripts\":{{\"test\":\"{tool}\"}}}}");
        let Some(project) = Project::node(&[("package.json", &manifest), (file, text)]) else {
            return;
        };
        for (name, expected) in [
            ("group > bad", ("failed", [0, 1, 0])),
            ("group::ok", ("passed", [1, 0, 0])),
            ("bad too", ("failed", [0, 1, 0])),
        ] {
            let arguments = json!({ "path": format!("{file}::{name}") });
            let answer = project.call("code_test", arguments).await;
            assert_eq!(counts(&answer).0, expected.0, "{tool} {name} {answer:#}");
            assert_eq!(counts(&answer).1, expected.1, "{tool} {name} {answer:#}");
            let note = answer["note"].as_str().unwrap_or_default();
            assert!(!note.contains("exactly this name"), "{tool} {name} {answer:#}");
            assert_eq!(answer["directory"], ".", "{tool} {name} {answer:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_failed_runs_again_also_within_groups() {
    if !has("node") {
        return;
    }
    let text = "const { test, describe, it } = require('node:test');\nconst fs = require('node:fs');\ntest('top', () => { if (!fs.existsSync('fixed')) throw new Error('x'); });\ndescribe('grp', () => {\n  it('inner ok', () => {});\n  it('inner bad', () => { throw new Error('still'); });\n});\ntest('sub', async (t) => {\n  await t.test('child', () => { throw new Error('c'); });\n  await t.test('child2', () => {});\n});\n";
    let manifest = r#"{"name":"x","scripts":{"test":"node --test"}}"#;
    let project = Project::of(&[("package.json", manifest), ("a.test.js", text)]);
    let call = async |arguments: Value| project.call("code_test", arguments).await;
    let all = call(json!({})).await;
    assert_eq!(counts(&all), ("failed", [2, 3, 0]), "{all:#}");
    project.write("fixed", "");
    let again = call(json!({ "failed_only": true })).await;
    assert_eq!(counts(&again), ("failed", [1, 2, 0]), "{again:#}");
    let names: Vec<_> = again["failures"].as_array().unwrap().iter().map(|f| &f["name"]).collect();
    assert_eq!(names, ["grp > inner bad", "sub > child"], "{again:#}");
    let one = call(json!({ "path": "a.test.js::sub > child" })).await;
    assert_eq!(counts(&one), ("failed", [0, 1, 0]), "{one:#}");
    assert!(!one["note"].as_str().unwrap_or_default().contains("exactly this name"), "{one:#}");
    // One of them was removed: the others passing does not mean that it passes.
    project.write(
        "a.test.js",
        &text.replace("'inner bad'", "'renamed'").replace("throw new Error('c')", ""),
    );
    let rest = call(json!({ "failed_only": true })).await;
    assert_eq!(counts(&rest), ("error", [1, 0, 0]), "{rest:#}");
    assert!(rest["note"].as_str().unwrap().contains("grp > inner bad"), "{rest:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_is_found_by_the_name_that_was_told() {
    let manifest = r#"{"name":"x","scripts":{"test":"jest"}}"#;
    let text = "describe('sum > group', () => {\n  test('bad', () => { throw new Error('x'); });\n  test.skip('later', () => {});\n});\ntest('other', () => {});\n";
    let files = [("package.json", manifest), ("a.test.js", text)];
    let Some(project) = Project::node(&files) else { return };
    let all = project.call("code_test", json!({})).await;
    assert_eq!(all["failures"][0]["name"], "sum > group > bad", "{all:#}");
    for arguments in [
        json!({ "path": "a.test.js::sum > group > bad" }),
        json!({ "filter": "sum > group > bad" }),
    ] {
        let one = project.call("code_test", arguments.clone()).await;
        assert_eq!(counts(&one), ("failed", [0, 1, 0]), "{arguments} {one:#}");
        assert_eq!(one["skipped"], 0, "what a filter leaves out is not skipped: {one:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_workspace_are_named_with_their_tests() {
    if !has("npm") || !has("node") {
        return;
    }
    let root = r#"{"name":"mono","private":true,"workspaces":["packages/*"],"scripts":{"test":"npm test --workspaces"}}"#;
    let api =
        r#"{"name":"api","version":"1.0.0","scripts":{"test":"node --test --test-reporter=tap"}}"#;
    let text = "const { describe, it } = require('node:test');\ndescribe('grp', () => {\n  it('ok', () => {});\n  it('inner bad', () => { throw new Error('still'); });\n});\n";
    let files = [
        ("package.json", root),
        ("packages/api/package.json", api),
        ("packages/api/a.test.js", text),
    ];
    let project = Project::of(&files);
    let answer = project.call("code_test", json!({})).await;
    assert_eq!(answer["failed"], 1, "{answer:#}");
    let case = &answer["failures"][0];
    assert_eq!(
        (&case["name"], &case["line"]),
        (&json!("grp > inner bad"), &json!(4)),
        "{answer:#}"
    );
    assert_eq!(case["message"], "still", "{answer:#}");
    let note = answer["note"].as_str().unwrap();
    assert!(note.contains("packages/api (node)"), "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_test_of_rust_runs_alone() {
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn good() {}\n    #[test]\n    fn good_too() {}\n}\n";
    let project = Project::of(&[
        ("Cargo.toml", manifest),
        ("src/lib.rs", &format!("mod a;\n{tests}")),
        ("src/a.rs", tests),
        ("tests/it.rs", "#[test]\nfn good() {}\n"),
    ]);
    for (path, passed) in [
        ("src/a.rs::tests::good", 1),
        ("src/a.rs::good", 1),
        ("src/a.rs", 2),
        ("tests/it.rs", 1),
        ("src/a.rs::goo", 5),
    ] {
        let answer = project.call("code_test", json!({ "path": path })).await;
        assert_eq!(counts(&answer), ("passed", [passed, 0, 0]), "{path} {answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_test_of_go_runs_alone() {
    if !has("go") {
        return;
    }
    let text = "package p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) {})\n\tt.Run(\"xy\", func(t *testing.T) { t.Fatal(1) })\n}\n\nfunc TestAB(t *testing.T) { t.Fatal(2) }\n";
    let project = Project::of(&[("go.mod", "module m\n\ngo 1.19\n"), ("p/a_test.go", text)]);
    let one = project.call("code_test", json!({ "path": "p/a_test.go::TestA/x" })).await;
    assert_eq!(counts(&one), ("passed", [2, 0, 0]), "{one:#}");
    let top = project.call("code_test", json!({ "path": "p/a_test.go::TestAB" })).await;
    assert_eq!(counts(&top), ("failed", [0, 1, 0]), "{top:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cut_off_says_where() {
    let files = [
        SETTINGS,
        (
            "tests/test_a.py",
            "def test_first():\n    pass\n\n\ndef test_h():\n    import time\n    time.sleep(600)\n",
        ),
        (
            "tests/test_crash.py",
            "def test_one():\n    pass\n\n\ndef test_h():\n    import os\n    os.kill(os.getpid(), 11)\n",
        ),
        (
            "tests/test_exit.py",
            "def test_one():\n    pass\n\n\ndef test_h():\n    import os\n    os._exit(9)\n",
        ),
    ];
    let Some(project) = Project::python(&files) else { return };
    let late = project.call("code_test", json!({ "path": "tests/test_a.py", "timeout": 8 })).await;
    assert_eq!(counts(&late), ("timeout", [1, 0, 1]), "{late:#}");
    assert_eq!(late["failures"][0]["name"], "tests/test_a.py::test_h", "{late:#}");
    let crash = project.call("code_test", json!({ "path": "tests/test_crash.py" })).await;
    assert_eq!(counts(&crash), ("error", [1, 0, 1]), "{crash:#}");
    let case = &crash["failures"][0];
    assert_eq!(
        (&case["file"], &case["line"]),
        (&json!("tests/test_crash.py"), &json!(7)),
        "{crash:#}"
    );
    assert!(case["message"].as_str().unwrap().contains("Segmentation fault"), "{crash:#}");
    let exit = project.call("code_test", json!({ "path": "tests/test_exit.py" })).await;
    assert_eq!(counts(&exit), ("error", [1, 0, 1]), "{exit:#}");
    assert_eq!(exit["failures"][0]["name"], "tests/test_exit.py::test_h", "{exit:#}");
}
