use serde_json::json;

use super::*;

fn told(path: &str) -> Value {
    json!({ "id": 5, "name": "f", "line": 3, "source": { "path": path } })
}

#[test]
fn frames_of_the_project_are_told_from_others() {
    let paths = ["/p/a.py", "/p/.venv/lib/x.py", "/p/node_modules/y.js", "/usr/z.py", "<string>"];
    let answer = json!({ "stackFrames": paths.map(told) });
    let frames = parse_stack_trace(&answer, &["/p".into()]);
    let own: Vec<_> = frames.iter().map(|frame| (frame.frame, frame.is_own)).collect();
    assert_eq!(own, [(0, true), (1, false), (2, false), (3, false)], "ours is left out");
}

#[test]
fn a_project_below_a_foreign_folder_is_still_one() {
    let answer = json!({ "stackFrames": [told("/x/node_modules/mine/a.js")] });
    assert!(parse_stack_trace(&answer, &["/x/node_modules/mine".into()])[0].is_own);
}

#[test]
fn an_exception_has_a_class_and_words() {
    let answer = json!({
        "exceptionId": "ValueError       (note: full exception trace is shown)",
        "details": { "message": "boom", "typeName": "ValueError       (note: …)" },
    });
    let exception = parse_exception_info(&answer);
    assert_eq!((exception.kind.as_str(), exception.message.as_str()), ("ValueError", "boom"));
}
