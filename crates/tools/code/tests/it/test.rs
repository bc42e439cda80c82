//! Real test runners on small projects with known failures.

use serde_json::{Value, json};

use crate::checks::{Project, has};

/// Status, passed, failed, skipped, errors.
fn counts(answer: &Value) -> (String, [u64; 4]) {
    let status = answer["status"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned();
    let fields = ["passed", "failed", "skipped", "errors"];
    (status, fields.map(|field| answer[field].as_u64().unwrap()))
}

fn names(answer: &Value) -> Vec<&str> {
    let failures = answer["failures"].as_array().map(Vec::as_slice).unwrap_or_default();
    failures.iter().map(|case| case["name"].as_str().unwrap()).collect()
}

const PYTHON: &str = "import pytest\n\n\ndef helper(v):\n    assert v == 2, 'no two'\n\n\nclass TestX:\n    def test_bad(self):\n        print('said')\n        helper(1)\n\n    @pytest.mark.parametrize('n', [1, 2])\n    def test_p(self, n):\n        assert n == 1\n\n\ndef test_ok():\n    pass\n\n\n@pytest.mark.skip(reason='later')\ndef test_skipped():\n    pass\n\n\n@pytest.fixture\ndef broken():\n    raise RuntimeError('fixture')\n\n\ndef test_error(broken):\n    pass\n";

#[tokio::test(flavor = "multi_thread")]
async fn pytest_tells_each_failure() {
    let Some(project) =
        Project::python(&[("pytest.ini", "[pytest]\n"), ("tests/test_a.py", PYTHON)])
    else {
        return;
    };
    let answer = project.call("code_test", json!({})).await;
    assert_eq!(counts(&answer), ("error".to_owned(), [2, 2, 1, 1]), "{answer:#}");
    let expected = [
        "tests/test_a.py::TestX::test_bad",
        "tests/test_a.py::TestX::test_p[2]",
        "tests/test_a.py::test_error",
    ];
    assert_eq!(names(&answer), expected);
    let bad = &answer["failures"][0];
    assert_eq!((&bad["file"], &bad["line"]), (&json!("tests/test_a.py"), &json!(5)), "{bad:#}");
    assert_eq!(bad["message"], "AssertionError: no two\nassert 1 == 2");
    assert!(
        bad["traceback"].as_str().unwrap().contains("tests/test_a.py:11: in test_bad"),
        "{bad:#}"
    );
    assert_eq!(answer["failures"][2]["outcome"], "error");
    let skipped = json!([{ "name": "tests/test_a.py::test_skipped", "reason": "later" }]);
    assert_eq!(answer["skipped_tests"], skipped, "{answer:#}");
    let passed: Vec<_> =
        answer["passed_tests"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(passed, ["tests/test_a.py::TestX::test_p[1]", "tests/test_a.py::test_ok"]);
    assert!(answer["passed_tests"][0]["seconds"].is_number(), "{answer:#}");

    project.write("tests/test_a.py", &PYTHON.replace("helper(1)", "helper(2)"));
    let again = project.call("code_test", json!({ "failed_only": true })).await;
    assert_eq!(counts(&again), ("error".to_owned(), [1, 1, 0, 1]), "{again:#}");
    let some = project.call("code_test", json!({ "filter": "test_ok" })).await;
    assert_eq!(counts(&some), ("passed".to_owned(), [1, 0, 0, 0]), "{some:#}");
    let file =
        project.call("code_test", json!({ "filter": "tests/test_a.py::TestX::test_bad" })).await;
    assert_eq!(counts(&file), ("passed".to_owned(), [1, 0, 0, 0]), "{file:#}");
    let none = project.call("code_test", json!({ "filter": "nonesuch" })).await;
    assert_eq!(counts(&none), ("no_tests".to_owned(), [0, 0, 0, 0]), "{none:#}");
    assert!(none["note"].as_str().unwrap().contains("No tests ran"), "{none:#}");
    assert!(project.left_over().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_tests_that_cannot_be_read_is_an_error() {
    let Some(project) =
        Project::python(&[("pytest.ini", ""), ("test_a.py", "import nonesuch_module\n")])
    else {
        return;
    };
    let answer = project.call("code_test", json!({})).await;
    assert_eq!(counts(&answer), ("error".to_owned(), [0, 0, 0, 1]), "{answer:#}");
    let case = &answer["failures"][0];
    assert_eq!(case["name"], "test_a.py", "{answer:#}");
    assert_eq!((&case["file"], &case["line"]), (&json!("test_a.py"), &json!(1)), "{answer:#}");
    assert!(case["message"].as_str().unwrap().contains("nonesuch_module"), "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_that_does_not_end_is_ended() {
    let text = "import time, unittest\n\n\nclass A(unittest.TestCase):\n    def test_long(self):\n        time.sleep(600)\n";
    let project = Project::of(&[("test_a.py", text)]);
    let arguments = json!({ "tool": "unittest", "timeout": 3 });
    let answer = project.call("code_test", arguments).await;
    assert_eq!(counts(&answer).0, "timeout", "{answer:#}");
    assert!(answer["seconds"].as_f64().unwrap() < 100.0, "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unittest_tells_each_failure() {
    let text = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_bad(self):\n        self.assertEqual(1, 2, 'no')\n\n    def test_ok(self):\n        pass\n\n    @unittest.skip('later')\n    def test_skipped(self):\n        pass\n\n    def test_error(self):\n        raise ValueError('odd')\n";
    let project = Project::of(&[("pyproject.toml", ""), ("tests/test_a.py", text)]);
    let answer = project.call("code_test", json!({ "tool": "unittest" })).await;
    assert_eq!(counts(&answer), ("error".to_owned(), [1, 1, 1, 1]), "{answer:#}");
    assert_eq!(names(&answer), ["test_a.A.test_bad", "test_a.A.test_error"]);
    let bad = &answer["failures"][0];
    assert_eq!((&bad["file"], &bad["line"]), (&json!("tests/test_a.py"), &json!(6)), "{bad:#}");
    assert_eq!(bad["message"], "AssertionError: 1 != 2 : no");
    let again = project.call("code_test", json!({ "tool": "unittest", "failed_only": true })).await;
    assert_eq!(counts(&again), ("error".to_owned(), [0, 1, 0, 1]), "{again:#}");
}

const MANIFEST: &str = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
const RUST: &str = "pub fn f(x: i32) -> i32 {\n    x\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn good() {}\n\n    #[test]\n    fn bad() {\n        println!(\"said\");\n        assert_eq!(super::f(1), 2, \"no two\");\n    }\n\n    #[test]\n    #[ignore = \"later\"]\n    fn skipped() {}\n}\n";

#[tokio::test(flavor = "multi_thread")]
async fn cargo_test_tells_each_failure() {
    let project = Project::of(&[("Cargo.toml", MANIFEST), ("src/lib.rs", RUST)]);
    let answer = project.call("code_test", json!({})).await;
    assert_eq!(counts(&answer), ("failed".to_owned(), [1, 1, 1, 0]), "{answer:#}");
    let bad = &answer["failures"][0];
    assert_eq!((&bad["file"], &bad["line"]), (&json!("src/lib.rs"), &json!(13)), "{bad:#}");
    assert_eq!(bad["name"], "tests::bad");
    assert_eq!(bad["message"], "assertion `left == right` failed: no two\n  left: 1\n right: 2");
    assert_eq!(bad["output"], "said");
    let again = project.call("code_test", json!({ "failed_only": true })).await;
    assert_eq!(counts(&again), ("failed".to_owned(), [0, 1, 0, 0]), "{again:#}");
    let some = project.call("code_test", json!({ "filter": "good" })).await;
    assert_eq!(counts(&some), ("passed".to_owned(), [1, 0, 0, 0]), "{some:#}");
    let done = project.call("code_test", json!({ "filter": "good", "failed_only": true })).await;
    assert_eq!(done["kind"], "conflict", "nothing has failed: {done}");
    project.write("src/lib.rs", "pub fn f() -> i32 { \"x\" }\n");
    let broken = project.call("code_test", json!({})).await;
    assert_eq!(counts(&broken), ("error".to_owned(), [0, 0, 0, 1]), "{broken:#}");
    assert!(broken["failures"][0]["message"].as_str().unwrap().contains("E0308"), "{broken:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nextest_tells_each_failure() {
    if !has("cargo-nextest") {
        return;
    }
    let project = Project::of(&[
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", RUST),
        (".config/nextest.toml", ""),
    ]);
    let answer = project.call("code_test", json!({})).await;
    assert_eq!(answer["tool"], "nextest", "{answer:#}");
    assert_eq!(counts(&answer), ("failed".to_owned(), [1, 1, 1, 0]), "{answer:#}");
    let bad = &answer["failures"][0];
    assert_eq!(bad["name"], "small tests::bad");
    assert_eq!((&bad["file"], &bad["line"]), (&json!("src/lib.rs"), &json!(13)), "{bad:#}");
    assert_eq!((&bad["output"], &answer["other_tools"]), (&json!("said"), &json!(["cargo"])));
    let again = project.call("code_test", json!({ "failed_only": true })).await;
    assert_eq!(counts(&again).1[..2], [0, 1], "{again:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn node_tells_each_failure() {
    if !has("node") {
        return;
    }
    let text = "const {test, describe} = require('node:test');\nconst assert = require('node:assert');\ntest('ok', () => {});\ndescribe('group', () => {\n  test('bad', () => {\n    assert.strictEqual(1, 2);\n  });\n  test.skip('later', () => {});\n});\n";
    let manifest = r#"{"name":"x","scripts":{"test":"node --test"}}"#;
    let project = Project::of(&[("package.json", manifest), ("a.test.js", text)]);
    let answer = project.call("code_test", json!({})).await;
    assert_eq!(answer["tool"], "node", "{answer:#}");
    assert_eq!(counts(&answer), ("failed".to_owned(), [1, 1, 1, 0]), "{answer:#}");
    let bad = &answer["failures"][0];
    assert_eq!(bad["name"], "group > bad");
    assert_eq!((&bad["file"], &bad["line"]), (&json!("a.test.js"), &json!(6)), "{bad:#}");
    assert!(bad["message"].as_str().unwrap().contains("1 !== 2"), "{bad:#}");
    assert!(!bad["traceback"].as_str().unwrap().contains("node:internal"), "{bad:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn jest_vitest_and_mocha_tell_each_failure() {
    let body = "test('ok', () => {});\ndescribe('group', () => {\n  test('bad', () => {\n    expect(1).toBe(2);\n  });\n  test.skip('later', () => {});\n});\n";
    let vitest = format!("import {{ test, expect, describe }} from 'vitest';\n{body}");
    let mocha = "const assert = require('node:assert');\nit('ok', () => {});\ndescribe('group', () => {\n  it('bad', () => {\n    assert.strictEqual(1, 2);\n  });\n  it.skip('later', () => {});\n});\n";
    let cases = [
        ("jest", "a.test.js", body, 4, "expect(received).toBe(expected)"),
        ("vitest", "a.test.mjs", vitest.as_str(), 5, "expected 1 to be 2"),
        ("mocha", "test/a.js", mocha, 5, "1 !== 2"),
    ];
    for (tool, file, text, line, message) in cases {
        let manifest = format!("{{\"name\":\"x\",\"scripts\":{{\"test\":\"{tool}\"}}}}");
        let Some(project) = Project::node(&[("package.json", &manifest), (file, text)]) else {
            return;
        };
        let answer = project.call("code_test", json!({})).await;
        assert_eq!(answer["tool"], tool, "{answer:#}");
        assert_eq!(counts(&answer), ("failed".to_owned(), [1, 1, 1, 0]), "{answer:#}");
        let bad = &answer["failures"][0];
        assert_eq!((&bad["file"], &bad["line"]), (&json!(file), &json!(line)), "{tool}: {bad:#}");
        assert!(bad["message"].as_str().unwrap().contains(message), "{tool}: {bad:#}");
        assert!(!bad["traceback"].as_str().unwrap().contains("node_modules"), "{tool}: {bad:#}");
        let again = project.call("code_test", json!({ "failed_only": true })).await;
        assert_eq!(counts(&again).1[..2], [0, 1], "{tool}: {again:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_javascript_that_cannot_be_read_says_where() {
    let manifest = r#"{"name":"x","scripts":{"test":"jest"}}"#;
    let text = "test('a', () => {});\nlet let = ;\n";
    let files = [("package.json", manifest), ("a.test.js", text)];
    let Some(project) = Project::node(&files) else { return };
    let answer = project.call("code_test", json!({})).await;
    let case = &answer["failures"][0];
    assert!(case["message"].as_str().unwrap().starts_with("SyntaxError: "), "{answer:#}");
    assert_eq!((&case["file"], &case["line"]), (&json!("a.test.js"), &json!(2)), "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn make_test_is_judged_by_its_end() {
    if !has("make") {
        return;
    }
    let text = "test:\n\t@echo '3 passed, 1 failed'; exit 1\n";
    let project = Project::of(&[("Makefile", text)]);
    let answer = project.call("code_test", json!({})).await;
    assert_eq!(answer["tool"], "make", "{answer:#}");
    assert_eq!(counts(&answer), ("failed".to_owned(), [3, 1, 0, 0]), "{answer:#}");
    project.write("Makefile", "test:\n\t@true\n");
    let silent = project.call("code_test", json!({})).await;
    assert_eq!(counts(&silent), ("passed".to_owned(), [0, 0, 0, 0]), "{silent:#}");
    assert!(silent["note"].as_str().unwrap().contains("does not say"), "{silent:#}");
    project.write("Makefile", "test:\n\t@echo oh >&2; exit 3\n");
    let failed = project.call("code_test", json!({})).await;
    assert_eq!(counts(&failed).0, "error", "{failed:#}");
    assert!(failed["output"].as_str().unwrap().contains("oh"), "{failed:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nearest_project_of_several_is_meant() {
    let project = Project::of(&[
        ("Cargo.toml", MANIFEST),
        ("src/lib.rs", RUST),
        ("tool/pyproject.toml", ""),
        (
            "tool/test_a.py",
            "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_ok(self):\n        pass\n",
        ),
    ]);
    let answer =
        project.call("code_test", json!({ "path": "tool/test_a.py", "tool": "unittest" })).await;
    assert_eq!(counts(&answer), ("passed".to_owned(), [1, 0, 0, 0]), "{answer:#}");
    assert_eq!(answer["directory"], "tool", "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_test_that_ran_is_no_success() {
    if !has("node") {
        return;
    }
    let project = Project::of(&[
        ("package.json", r#"{"scripts":{"test":"node --test"}}"#),
        (
            "a.test.js",
            "const t = require('node:test');\nt('say \"hi\" & <b>', () => {\n  throw new Error('E');\n});\nt('ok', () => {});\n",
        ),
    ]);
    let none = project.call("code_test", json!({ "filter": "zzz" })).await;
    assert_eq!(none["status"], "no_tests", "{none:#}");
    let all = project.call("code_test", json!({})).await;
    assert_eq!(counts(&all), ("failed".to_owned(), [1, 1, 0, 0]), "{all:#}");
    assert_eq!(names(&all), ["say \"hi\" & <b>"]);
    let again = project.call("code_test", json!({ "failed_only": true })).await;
    assert_eq!(counts(&again), ("failed".to_owned(), [0, 1, 0, 0]), "{again:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unittest_counts_what_unittest_counts() {
    let text = "import sys, unittest\n\n\nclass A(unittest.TestCase):\n    def test_bad(self):\n        \"\"\"Failing with docstring.\"\"\"\n        self.assertEqual(1, 2)\n\n    def test_sub(self):\n        for i in range(2):\n            with self.subTest(i=i):\n                self.assertEqual(i, 0)\n\n    def test_loud(self):\n        sys.stderr.write('to stderr')\n\n    def test_ok(self):\n        pass\n";
    let project = Project::of(&[("test_a.py", text)]);
    let all = project.call("code_test", json!({ "tool": "unittest" })).await;
    assert_eq!(counts(&all), ("failed".to_owned(), [2, 2, 0, 0]), "{all:#}");
    assert_eq!(names(&all), ["test_a.A.test_bad", "test_a.A.test_sub (i=1)"]);
    assert!(all["command"].as_str().unwrap().contains("-m unittest discover"), "{all:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_is_named_behind_its_file() {
    let code = "import unittest\n\n\nclass Sum(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(1 + 1, 2)\n\n    def test_three(self):\n        self.assertEqual(1 + 1, 3)\n";
    let project = Project::of(&[("test_sum.py", code)]);
    let path = "test_sum.py::Sum::test_two";
    let answer = project.call("code_test", json!({ "path": path, "tool": "unittest" })).await;
    let counts = (&answer["passed"], &answer["failed"]);
    assert_eq!(
        (&answer["status"], counts),
        (&json!("passed"), (&json!(1), &json!(0))),
        "{answer:#}"
    );
}
