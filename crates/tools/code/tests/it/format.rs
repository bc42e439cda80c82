//! Real formatters on small projects.

use serde_json::json;

use crate::checks::Project;

#[tokio::test(flavor = "multi_thread")]
async fn rustfmt_changes_what_is_asked_for_and_nothing_else() {
    let project = Project::of(&[
        ("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
        ("rustfmt.toml", "tab_spaces = 2\n"),
        ("src/lib.rs", "mod child;\npub fn f( ) {\nlet _ = async { };\n}\n"),
        ("src/child.rs", "pub fn g( ) {}\n"),
    ]);
    let check = project.call("code_format", json!({ "check": true })).await;
    assert_eq!(
        (&check["formatted"], &check["changed"]),
        (&json!(false), &json!(false)),
        "{check:#}"
    );
    assert_eq!(check["files_changed"].as_array().unwrap().len(), 2, "{check:#}");
    assert!(project.read("src/child.rs").contains("( )"), "check changes nothing");
    let one = project.call("code_format", json!({ "path": "src/lib.rs" })).await;
    let lib = "mod child;\npub fn f() {\n  let _ = async {};\n}\n";
    assert_eq!(project.read("src/lib.rs"), lib, "{one:#}");
    assert!(project.read("src/child.rs").contains("( )"), "{one:#}");
    assert_eq!(
        one["files_changed"],
        json!([{"file": "src/lib.rs", "lines_added": 2, "lines_removed": 2}])
    );
    // All that was asked about is in form now, and that was this call's doing.
    assert_eq!((&one["formatted"], &one["changed"]), (&json!(true), &json!(true)), "{one:#}");
    let all = project.call("code_format", json!({})).await;
    assert_eq!((&all["formatted"], &all["changed"]), (&json!(true), &json!(true)), "{all:#}");
    assert_eq!(all["files_changed"][0]["file"], "src/child.rs", "{all:#}");
    let again = project.call("code_format", json!({})).await;
    assert_eq!(
        (&again["formatted"], &again["changed"]),
        (&json!(true), &json!(false)),
        "{again:#}"
    );
    project.write("src/child.rs", "pub fn g( {\n");
    let broken = project.call("code_format", json!({})).await;
    assert_eq!(broken["failed"][0]["file"], "src/child.rs", "{broken:#}");
    assert_eq!(broken["formatted"], false);
    assert!(project.left_over().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn black_or_ruff_as_the_project_says() {
    for (settings, tool) in [("[tool.black]\n", "black"), ("[tool.ruff]\n", "ruff")] {
        let Some(project) = Project::python(&[
            ("pyproject.toml", settings),
            ("pack/a.py", "x = { 'a':1 }\n"),
            ("pack/b.py", "y = 1\n"),
            ("bad.py", "def (:\n"),
        ]) else {
            return;
        };
        let check = project.call("code_format", json!({ "check": true, "path": "pack" })).await;
        assert_eq!(check["tools"][0]["tool"], tool, "{check:#}");
        let diff =
            "--- a/pack/a.py\n+++ b/pack/a.py\n@@ -1 +1 @@\n-x = { 'a':1 }\n+x = {\"a\": 1}\n";
        assert_eq!(check["diff"], diff, "{tool}");
        assert_eq!(project.read("pack/a.py"), "x = { 'a':1 }\n");
        let done = project.call("code_format", json!({})).await;
        assert_eq!(project.read("pack/a.py"), "x = {\"a\": 1}\n", "{done:#}");
        assert_eq!(done["diff"], diff, "{tool}");
        assert_eq!(done["failed"][0]["file"], "bad.py", "{done:#}");
        assert_eq!(done["changed"], true);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_project_below_is_formatted_as_it_says() {
    let settings = "[tool.black]\nskip-string-normalization = true\nline-length = 40\n";
    let Some(project) = Project::python(&[
        ("backend/pyproject.toml", settings),
        ("backend/a.py", "x = { 'a':1 }\n"),
        ("core/Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
        ("core/src/lib.rs", "pub fn f( ) {}\n"),
        ("tool.py", "y = 'a'\n"),
    ]) else {
        return;
    };
    let done = project.call("code_format", json!({})).await;
    assert_eq!(project.read("backend/a.py"), "x = {'a': 1}\n", "{done:#}");
    assert_eq!(project.read("core/src/lib.rs"), "pub fn f() {}\n", "{done:#}");
    assert_eq!(project.read("tool.py"), "y = \"a\"\n", "{done:#}");
    assert_eq!(done["formatted"], true, "{done:#}");
    let below = project.call("code_format", json!({ "path": "backend", "check": true })).await;
    assert_eq!(below["formatted"], true, "{below:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn prettier_of_the_project() {
    let Some(project) = Project::node(&[
        ("package.json", "{ \"name\": \"x\", \"prettier\": { \"semi\": false } }\n"),
        ("src/a.js", "const a = {b:1};\n"),
        ("src/ok.js", "const a = 1\n"),
    ]) else {
        return;
    };
    let check = project.call("code_format", json!({ "path": "src", "check": true })).await;
    assert_eq!(check["tools"][0]["tool"], "prettier", "{check:#}");
    assert!(check["diff"].as_str().unwrap().contains("\n+const a = { b: 1 }\n"), "{check:#}");
    let done = project.call("code_format", json!({ "path": "src" })).await;
    assert_eq!(project.read("src/a.js"), "const a = { b: 1 }\n", "{done:#}");
    assert_eq!(
        done["files_changed"],
        json!([{"file": "src/a.js", "lines_added": 1, "lines_removed": 1}])
    );
    project.write("src/bad.js", "x = {\n");
    let broken = project.call("code_format", json!({ "path": "src/bad.js" })).await;
    assert_eq!(broken["failed"][0]["file"], "src/bad.js", "{broken:#}");
    assert!(broken["failed"][0]["error"].as_str().unwrap().contains("SyntaxError"), "{broken:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn formatters_that_go_file_by_file() {
    let Some(project) = Project::python(&[
        (".clang-format", "BasedOnStyle: LLVM\n"),
        ("a.c", "int main( ){}\n"),
        ("taplo.toml", "include = [\"*.toml\"]\n"),
        ("a.toml", "a=1\n"),
        ("a.sh", "if true; then\necho a\nfi\n"),
    ]) else {
        return;
    };
    let done = project.call("code_format", json!({})).await;
    assert_eq!(project.read("a.c"), "int main() {}\n", "{done:#}");
    assert_eq!(project.read("a.toml"), "a = 1\n", "{done:#}");
    assert_eq!(project.read("a.sh"), "if true; then\n\techo a\nfi\n", "{done:#}");
    assert_eq!(done["files_changed"].as_array().unwrap().len(), 3, "{done:#}");
    let again = project.call("code_format", json!({})).await;
    assert_eq!(again["formatted"], true, "{again:#}");
    let Some(project) =
        Project::node(&[("biome.json", "{}"), ("a.js", "let a={b:1}\n"), ("b.js", "let a={\n")])
    else {
        return;
    };
    let done = project.call("code_format", json!({})).await;
    assert_eq!(project.read("a.js"), "let a = { b: 1 };\n", "{done:#}");
    assert_eq!(done["failed"][0]["file"], "b.js", "{done:#}");
    // One is in form now, the other cannot be.
    assert_eq!((&done["formatted"], &done["changed"]), (&json!(false), &json!(true)), "{done:#}");
}
