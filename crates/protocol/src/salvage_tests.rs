use serde_json::json;

use super::*;

#[test]
fn a_name_and_the_text_of_its_arguments_are_dug_out() {
    let table = [
        (r#"{"name":"f","arguments":{"x":1,}}"#, "f", r#"{"x":1,}"#),
        (r#"{"name":"f","arguments":{"x":1}"#, "f", r#"{"x":1}"#),
        (r#"{"name":"f","arguments":{"x":[1,"#, "f", r#"{"x":[1,"#),
        (r#"{"name":"f","arguments":{"x":"cut of"#, "f", r#"{"x":"cut of"#),
        (r#"{'name':'f','arguments':{'x':'it"s'}}"#, "f", r#"{'x':'it"s'}"#),
        (r#"{name: "f", arguments: {x: 1}}"#, "f", "{x: 1}"),
        ("{\"name\":\"f\",\"arguments\":{\"x\":\"a\nb\"}}", "f", "{\"x\":\"a\nb\"}"),
        (r#"{"arguments":{"name":"inner",},"name":"f"}"#, "f", r#"{"name":"inner",}"#),
        (r#"{"name":"f","arguments":{"x":"say "hi" now"}}"#, "f", r#"{"x":"say "hi" now"}"#),
        (r#"{"arguments":{"x":"say "hi" now"}, "name": "f"}"#, "f", r#"{"x":"say "hi" now"}"#),
        (r#"{"name":"f","arguments":"{\"x\":1}",}"#, "f", r#"{"x":1}"#),
        (r#"{"name":"f","arguments":{"x":1}}}"#, "f", r#"{"x":1}"#),
        (r#"{"id":tru,"name":"f","arguments":{}}"#, "f", "{}"),
        (r#"{"name":"f","argu"#, "f", r#"{"name":"f","argu"#),
        (r#"{"arguments":{"x":1}"#, "", r#"{"arguments":{"x":1}"#),
        ("read_file please", "", "read_file please"),
        ("", "", ""),
    ];
    for (body, name, arguments) in table {
        assert_eq!(salvage_call(body), CallDraft::from_text(name, arguments), "{body}");
    }
}

#[test]
fn a_function_block_becomes_an_object_of_strings() {
    let body = "<function=write_file>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\n\nline\n</tool_call>\n\n</parameter>\n</function>";
    let draft = read_function(body);
    let arguments =
        CallArguments::Json(json!({"path": "a.txt", "content": "\nline\n</tool_call>\n"}));
    assert_eq!(draft, Some(CallDraft { id: None, name: "write_file".to_owned(), arguments }));
    assert_eq!(
        read_function("<function=now></function>").map(|d| d.arguments),
        Some(CallArguments::Json(json!({})))
    );
}

#[test]
fn a_function_block_that_is_cut_off_stays_text() {
    for body in [
        "<function=f><parameter=a>1</parameter>",
        "<function=f><parameter=a>1",
        "<function=f><parameter=a>1</function>",
        "<function=f>stray</function>",
        "<function=f><parameter=a>x</parameter> tail</function>",
    ] {
        assert_eq!(read_function(body), Some(CallDraft::from_text("f", body)), "{body}");
    }
    assert_eq!(read_function("{}"), None);
    assert_eq!(read_function("<function=f"), None);
}

#[test]
fn a_span_ends_where_brackets_balance() {
    let whole = |text: &str| bracket_span(text, 0, &mut ScanBudget::for_text(text));
    assert_eq!(whole(r#"{"a":"}"} tail"#), BracketSpan::Whole(9));
    assert_eq!(whole(r#"{"a":"</tool_call>"}"#), BracketSpan::Whole(20));
    assert_eq!(whole(r#"{"a":1</tool_call>"#), BracketSpan::Tag(6));
    assert_eq!(whole(r#"{"a":"b"</tool_call>"#), BracketSpan::Tag(8));
    assert_eq!(whole(r#"{"a":"say "hi""}"#), BracketSpan::Broken);
    assert_eq!(whole(r#"{"a":<b>}"#), BracketSpan::Broken);
    assert_eq!(whole(r#"{"a":"b"#), BracketSpan::Open);
    assert_eq!(whole(r#"{"a":[1"#), BracketSpan::Open);
}
