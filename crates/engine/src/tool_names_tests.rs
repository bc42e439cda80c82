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
        NameMatch::Repaired(name) => Some(name),
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
        ("functions.read_file:0", "read_file"),
        ("default_api:read_file", "read_file"),
        ("Tools.ReadFile", "read_file"),
        ("readfile", "read_file"),
        ("read_files", "read_file"),
        ("todos", "todo"),
        ("raed_file", "read_file"),
        ("writ_file", "write_file"),
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
fn tool_name_repair_never_changes_the_meaning() {
    let names = [
        "read_file",
        "search_files",
        "tool_search",
        "file_search",
        "write_file",
        "edit_file",
        "patch",
        "bash",
        "lint",
        "repl",
        "code_lint",
        "directory_list",
        "delete_issue",
        "turn_on_light",
        "upload_report",
        "watch_files",
        "sleep",
        "glob",
        "grep",
        "notify",
        "debug",
    ];
    for written in [
        "web_search",
        "web-search",
        "WebSearch",
        "image_search",
        "search_web",
        "google_search",
        "remove_file",
        "rename_file",
        "create_file",
        "delete_file",
        "move_file",
        "copy_file",
        "head_file",
        "load_file",
        "match",
        "batch",
        "path",
        "hash",
        "list",
        "link",
        "hint",
        "reply",
        "code_link",
        "directory_lint",
        "get_issue",
        "create_issue",
        "turn_off_light",
        "unload_report",
        "match_files",
        "fetch_files",
        "exit_file",
        "white_file",
        "blob",
        "prep",
        "notice",
        "spell",
        "text_search",
        "file_sear",
        "x_file",
        "search_tool_files",
    ] {
        let found = match_name(written, |name| names.contains(&name), names.into_iter());
        assert_eq!(found, NameMatch::Unknown, "{written}");
    }
    for (written, meant) in [
        ("raed_file", "read_file"),
        ("serach_files", "search_files"),
        ("serch_files", "search_files"),
        ("searxh_files", "search_files"),
        ("directoy_list", "directory_list"),
        ("pacth", "patch"),
    ] {
        let found = match_name(written, |name| names.contains(&name), names.into_iter());
        assert_eq!(found, NameMatch::Repaired(meant.to_owned()), "{written}");
    }
}

#[test]
fn tools_of_the_catalogue_are_known_in_every_spelling() {
    for (written, tool) in [
        ("web_search", "web_search"),
        ("WebSearch", "web_search"),
        ("functions.web-search", "web_search"),
        ("web_serch", "web_search"),
        ("google_web_search", "web_search"),
        ("image_analyze", "vision_analyze"),
        ("WebFetch", "web_extract"),
        ("skill_view", "skill_view"),
    ] {
        assert_eq!(catalogue_tool(written), Some(tool), "{written}");
    }
    for written in ["launch_rocket", "remove_file", "str_replace_editor", ""] {
        assert_eq!(catalogue_tool(written), None, "{written}");
    }
}

#[test]
fn the_word_list_is_sorted_for_its_search() {
    assert!(TOOL_WORDS.is_sorted_by(|a, b| a < b));
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
