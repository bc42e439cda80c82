//! Files with secrets, of which callers see only placeholders.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Place;

const FILE: &str = "name: app\ntoken: glpat-Zx81\nport: 80\n";
const SHOWN: &str = "token: [redacted:gitlab-token]";

/// Makes one call on a file of this content: returns the result and the new
/// content.
async fn change(content: &str, tool: &str, arguments: Value) -> (Value, String) {
    let place = Place::new();
    let path = place.write("app.yaml", content);
    let answer = place.call(tool, arguments).await;
    (answer, fs::read_to_string(path).unwrap())
}

fn edit(old: &str, new: &str) -> Value {
    json!({"path": "app.yaml", "old_string": old, "new_string": new})
}

fn assert_refused((answer, content): &(Value, String)) {
    assert_eq!(content, FILE, "{answer}");
    assert_eq!(answer["kind"], "conflict", "{answer}");
    assert!(answer["hint"].is_string(), "{answer}");
    assert!(!answer.to_string().contains("Zx81"), "{answer}");
}

#[tokio::test]
async fn writing_back_what_was_shown_keeps_the_secret() {
    let shown = format!("name: app\n{SHOWN}\nport: 81\n");
    for dry_run in [false, true] {
        let arguments = json!({"path": "app.yaml", "content": shown, "dry_run": dry_run});
        let done = change(FILE, "write_file", arguments).await;
        assert_refused(&done);
        assert_eq!(done.0["line"], 2);
        assert_eq!(done.0["placeholder"], "[redacted:gitlab-token]");
    }
}

#[tokio::test]
async fn no_form_of_patch_replaces_a_secret_with_its_placeholder() {
    let real = "token: glpat-Zx81";
    let v4a = format!(
        "*** Begin Patch\n*** Update File: app.yaml\n@@\n name: app\n-{real}\n+{SHOWN}\n*** End Patch"
    );
    let around = format!(
        "*** Begin Patch\n*** Update File: app.yaml\n@@\n-name: app\n+name: b\n@@\n-{real}\n-port: 80\n+{SHOWN}\n+port: 81\n*** End Patch"
    );
    let whole = format!(
        "*** Begin Patch\n*** Delete File: app.yaml\n*** Add File: app.yaml\n+{SHOWN}\n*** End Patch"
    );
    let unified = format!(
        "--- a/app.yaml\n+++ b/app.yaml\n@@ -1,3 +1,3 @@\n name: app\n-{real}\n+{SHOWN}\n port: 80\n"
    );
    let blocks = format!("app.yaml\n<<<<<<< SEARCH\n{real}\n=======\n{SHOWN}\n>>>>>>> REPLACE\n");
    for patch in [v4a, around, whole, unified, blocks] {
        let done = change(FILE, "patch", json!({"patch": patch})).await;
        assert_refused(&done);
    }
    assert_refused(&change(FILE, "patch", edit("glpat-Zx81", "[redacted:gitlab-token]")).await);
    let inserted = edit("name: app", "name: app\ntoken: [redacted:gitlab-token]");
    let (answer, content) = change(FILE, "patch", inserted).await;
    assert_eq!(answer["success"], true, "an insertion replaces nothing: {answer}");
    assert!(content.contains("glpat-Zx81"), "{content}");
}

#[tokio::test]
async fn an_edit_around_a_placeholder_keeps_the_value() {
    let old = format!("{SHOWN}\nport: 80");
    let new = format!("{SHOWN} # of the CI\nport: 81");
    let after = "name: app\ntoken: glpat-Zx81 # of the CI\nport: 81\n";
    let (answer, content) = change(FILE, "patch", edit(&old, &new)).await;
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(content, after);
    let returns = |text: &str| text.replace('\n', "\r\n");
    let (answer, content) = change(&returns(FILE), "patch", edit(&old, &new)).await;
    assert_eq!(content, returns(after), "{answer}");

    let context = format!(
        "--- a/app.yaml\n+++ b/app.yaml\n@@ -2,2 +2,2 @@\n {SHOWN}\n-port: 80\n+port: 81\n"
    );
    let renamed = format!(
        "*** Begin Patch\n*** Update File: app.yaml\n@@\n-{SHOWN}\n+ci_{SHOWN}\n*** End Patch"
    );
    for (patch, after) in [
        (&context, "name: app\ntoken: glpat-Zx81\nport: 81\n"),
        (&renamed, "name: app\nci_token: glpat-Zx81\nport: 80\n"),
    ] {
        let (answer, content) = change(FILE, "patch", json!({"patch": patch})).await;
        assert_eq!(answer["success"], true, "{answer}");
        assert_eq!(content, after);
        let (answer, content) = change(&returns(FILE), "patch", json!({"patch": patch})).await;
        assert_eq!(content, returns(after), "{answer}");
    }
}

#[tokio::test]
async fn a_failed_match_of_a_placeholder_does_not_spell_out_the_secret() {
    let strict = |mut call: Value| {
        call["strict"] = json!(true);
        call
    };
    let hunk = |lines: &str| json!({"patch": format!("*** Begin Patch\n*** Update File: app.yaml\n{lines}\n*** End Patch")});
    for call in [
        edit(SHOWN, "token: new"),
        edit(SHOWN, ""),
        edit(&format!("{SHOWN}\nport: 90"), &format!("{SHOWN}\nport: 91")),
        strict(edit(SHOWN, &format!("{SHOWN}\ndebug: 1"))),
        hunk(&format!("@@\n-{SHOWN}\n+token: new")),
        hunk(&format!("@@\n {SHOWN}\n-port: 90\n+port: 91")),
        hunk(&format!("@@ {SHOWN}\n+debug: 1")),
    ] {
        let done = change(FILE, "patch", call).await;
        assert_refused(&done);
        assert!(done.0.get("nearest").is_none(), "{}", done.0);
    }
}

#[tokio::test]
async fn values_of_hidden_secrets_do_not_change_places() {
    let content = "a: one\nb: two\n";
    let swap = edit("a: [redacted]\nb: [redacted]", "b: [redacted]\na: [redacted]");
    let (answer, after) = change(content, "patch", swap).await;
    assert_eq!((after.as_str(), &answer["kind"]), (content, &json!("conflict")));
    let same = "*** Begin Patch\n*** Update File: app.yaml\n@@\n-k: [redacted]\n k: [redacted]\n\
        +k: [redacted]\n*** End Patch";
    let (answer, after) = change("k: one\nk: two\n", "patch", json!({"patch": same})).await;
    assert_eq!((after.as_str(), &answer["kind"]), ("k: one\nk: two\n", &json!("conflict")));
}
