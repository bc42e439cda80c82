use serde_json::json;

use super::*;

fn line(file: &str, line: u64) -> BreakpointRequest {
    BreakpointRequest::Line {
        file: file.into(),
        line,
        condition: None,
        hit_count: None,
        log_message: None,
    }
}

#[test]
fn answers_are_matched_by_file_and_order() {
    let mut table = BreakpointTable::default();
    let ids = [line("/a", 3), line("/b", 1), line("/a", 9)].map(|wanted| table.add(wanted));
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(table.source_breakpoints(Path::new("/a")), json!([{ "line": 3 }, { "line": 9 }]));
    let answer = json!({ "breakpoints": [
        { "id": 70, "verified": true, "line": 4 },
        { "id": 71, "verified": false, "message": "no code" },
    ]});
    table.apply_response(Some(Path::new("/a")), &answer);
    let [first, second, third] = &table.all[..] else { panic!("{table:?}") };
    assert_eq!((first.line, first.asked_line, first.verified), (Some(4), Some(3), true));
    assert_eq!((second.verified, second.known_as), (false, None));
    assert_eq!((third.line, third.message.as_deref()), (Some(9), Some("no code")));
    assert_eq!(table.record_hits(&[71, 70, 5]), [1, 3]);
}

#[test]
fn the_same_place_is_one_breakpoint() {
    let mut table = BreakpointTable::default();
    let first = table.add(line("/a", 3));
    let condition = Some("x > 1".to_owned());
    let again = BreakpointRequest::Line {
        file: "/a".into(),
        line: 3,
        condition,
        hit_count: Some(2),
        log_message: None,
    };
    assert_eq!(table.add(again), first);
    let asked = json!([{ "line": 3, "condition": "x > 1", "hitCondition": "2" }]);
    assert_eq!(table.source_breakpoints(Path::new("/a")), asked);
}

#[test]
fn a_function_is_placed_when_it_is_found() {
    let mut table = BreakpointTable::default();
    table.add(BreakpointRequest::Function { name: "f".to_owned(), condition: None });
    table.apply_response(None, &json!({ "breakpoints": [{ "id": 1, "verified": false }, {}] }));
    assert_eq!(table.function_breakpoints(&["own"]), json!([{ "name": "f" }, { "name": "own" }]));
    table.update(&json!({ "id": 1, "verified": true, "line": 7, "source": { "path": "/a" } }));
    let one = &table.all[0];
    assert_eq!(
        (one.verified, one.line, one.file.as_deref()),
        (true, Some(7), Some(Path::new("/a")))
    );
}
