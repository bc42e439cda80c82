use super::*;

const NAMES: [&str; 8] = [
    "read_file",
    "write_file",
    "web_search",
    "web_extract",
    "terminal",
    "todo",
    "system_info",
    "http_request",
];

fn repaired(written: &str) -> Option<String> {
    match match_name(written, |n| NAMES.contains(&n), NAMES.into_iter()) {
        NameMatch::Exact => Some(written.to_owned()),
        NameMatch::Repaired(name) | NameMatch::Similar { name, .. } => Some(name),
        NameMatch::Unknown => None,
    }
}

#[test]
fn names_are_read_as_they_were_meant() {
    for (written, meant) in [
        ("read_file", "read_file"),
        ("Read_File", "read_file"),
        ("read-file", "read_file"),
        ("read file", "read_file"),
        ("ReadFile", "read_file"),
        ("readFile", "read_file"),
        ("HTTPRequest", "http_request"),
        ("TodoTool", "todo"),
        ("Todo_tool", "todo"),
        ("todo_tool_tool", "todo"),
        ("read_file\" path=\"x", "read_file"),
        ("terminal<arg>", "terminal"),
        ("functions.read_file", "read_file"),
        ("web_serch", "web_search"),
        ("sytem_info", "system_info"),
    ] {
        assert_eq!(repaired(written).as_deref(), Some(meant), "{written}");
    }
}

#[test]
fn what_resembles_nothing_stays_unknown() {
    for written in ["", "   ", "launch_rocket", "x", "\"", &"a".repeat(10_000)] {
        assert_eq!(repaired(written), None, "{written:.20}");
    }
}

#[test]
fn two_equally_near_names_leave_two_readings() {
    let names = ["copy_fila", "copy_filb"];
    assert_eq!(
        match_name("copy_filc", |n| names.contains(&n), names.into_iter()),
        NameMatch::Unknown
    );
    assert_eq!(suggest("copy_filc", names.into_iter()).len(), 2);
}

#[test]
fn likeness_is_sure_only_if_hardly_anything_differs() {
    let sure = |written: &str| match match_name(written, |n| NAMES.contains(&n), NAMES.into_iter())
    {
        NameMatch::Similar { is_confident: sure, .. } => Some(sure),
        _ => None,
    };
    assert_eq!(sure("writ_file"), Some(true));
    assert_eq!(sure("web_serach"), Some(true));
    assert_eq!(sure("web_serrch"), Some(false));
    assert_eq!(sure("read_fine_x"), Some(false));
}

#[test]
fn another_word_is_another_name() {
    for (written, near) in [
        ("get_issue_comment", "delete_issue_comment"),
        ("create_issue_comment", "delete_issue_comment"),
        ("ha_turn_on_light", "ha_turn_off_light"),
    ] {
        let reading = match_name(written, |n| n == near, [near].into_iter());
        assert_eq!(
            reading,
            NameMatch::Similar { name: near.to_owned(), is_confident: false },
            "{written}"
        );
    }
}

#[test]
fn a_servers_name_is_not_cut_off() {
    assert_eq!(repaired("notion.terminal"), None);
    assert_eq!(repaired("mcp-notion:terminal"), None);
    assert_eq!(repaired("tools.terminal").as_deref(), Some("terminal"));
}

#[test]
fn a_name_of_somebody_elses_tool_is_never_read_as_another() {
    let theirs = ["mcp__i__delete_file", "mcp__i__get-sum"];
    let all = |written: &str| match_name(written, |n| theirs.contains(&n), theirs.into_iter());
    for written in [
        "mcp__i__delete_files",
        "mcp__i__Delete_File",
        "MCP__i__delete_file",
        "mcp__i__get_sum",
        "mcp__i__delete_file_tool",
        "mcp_i_delete_file",
        "i__delete_file",
        "mcp-i:delete.file",
    ] {
        assert_eq!(all(written), NameMatch::Unknown, "{written}");
    }
    // What cannot be part of a name is not.
    for written in ["mcp__i__delete_file\" path=\"x", "functions.mcp__i__delete_file"] {
        assert_eq!(all(written), NameMatch::Repaired(theirs[0].to_owned()), "{written}");
    }
}
