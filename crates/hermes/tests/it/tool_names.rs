//! Names that models write, against all families.

use hermes::Hermes;
use hermes::core::{CallStatus, ErrorKind};
use hermes::engine::AllowAll;
use serde_json::json;
use std::sync::Arc;

fn hermes(root: &std::path::Path) -> Hermes {
    std::fs::create_dir_all(root.join("work")).unwrap();
    let builder = Hermes::builder().home(root.join("home")).workspace(root.join("work"));
    builder.policy(Arc::new(AllowAll)).build().unwrap()
}

/// Names of tools in other agents, with the tool that means the same here.
#[rustfmt::skip]
const OTHER_AGENTS: &[(&str, Option<&str>)] = &[
    // Claude Code
    ("Read", Some("read_file")), ("Write", Some("write_file")), ("Edit", Some("patch")),
    ("MultiEdit", None), ("NotebookEdit", None), ("Bash", Some("terminal")),
    ("BashOutput", Some("process")), ("KillShell", Some("process")), ("KillBash", Some("process")),
    ("Grep", Some("search_files")), ("Glob", Some("search_files")), ("LS", Some("directory_list")),
    ("Task", None), ("TodoWrite", Some("todo")), ("TodoRead", Some("todo")), ("WebFetch", None),
    ("WebSearch", None), ("ExitPlanMode", None), ("Skill", None), ("AskUserQuestion", None),
    // Anthropic's own tools
    ("str_replace_editor", None), ("str_replace_based_edit_tool", None), ("computer", None),
    ("view", Some("read_file")), ("create", None), ("str_replace", Some("patch")), ("insert", None),
    // Codex and gpt-oss
    ("shell", Some("terminal")), ("shell_command", Some("terminal")),
    ("exec_command", Some("terminal")), ("write_stdin", None), ("apply_patch", Some("patch")),
    ("update_plan", None), ("view_image", None), ("container.exec", None),
    ("functions.shell", Some("terminal")), ("code_interpreter", Some("execute_code")),
    // Cline
    ("execute_command", Some("terminal")), ("write_to_file", Some("write_file")),
    ("replace_in_file", Some("patch")), ("list_files", Some("directory_list")),
    ("list_code_definition_names", None), ("browser_action", None), ("use_mcp_tool", None),
    ("ask_followup_question", Some("clarify")), ("attempt_completion", None),
    // Gemini
    ("list_directory", Some("directory_list")), ("read_many_files", None),
    ("search_file_content", Some("search_files")), ("replace", Some("patch")),
    ("run_shell_command", Some("terminal")), ("web_fetch", None), ("google_web_search", None),
    ("save_memory", Some("memory")), ("default_api:read_file", Some("read_file")),
    // OpenCode
    ("list", Some("directory_list")), ("todowrite", Some("todo")), ("webfetch", None),
    // Cursor, Copilot, Windsurf, OpenHands
    ("create_file", Some("write_file")), ("replace_string_in_file", Some("patch")),
    ("run_in_terminal", Some("terminal")), ("run_terminal_cmd", Some("terminal")),
    ("grep_search", Some("search_files")), ("codebase_search", None), ("semantic_search", None),
    ("list_dir", Some("directory_list")), ("view_file", Some("read_file")), ("edit_file", Some("patch")),
    ("delete_file", None), ("remove_file", None), ("rename_file", None), ("move_file", None),
    ("copy_file", None), ("file_search", Some("search_files")), ("execute_bash", Some("terminal")),
    ("execute_ipython_cell", None), ("think", None), ("finish", None), ("fetch", None),
    ("google_search", None), ("search_web", None), ("image_search", None), ("reply", None),
    // Newer versions of Hermes Agent
    ("process_manage", Some("process")), ("todo_list", Some("todo")),
    ("cronjob_manage", Some("cronjob")),
];

#[tokio::test]
async fn names_of_other_agents_mean_the_same_or_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let hermes = hermes(directory.path());
    let (engine, caller) = (hermes.engine(), hermes.caller());
    let snapshot = engine.snapshot();
    for (written, meant) in OTHER_AGENTS {
        let found = engine.normalize_call(written, "{}", &caller).map(|(name, _)| name);
        let tool = found.as_deref().and_then(|name| snapshot.find(name)).map(|it| it.name());
        assert_eq!(tool, *meant, "{written}");
        if meant.is_none() {
            let result = hermes.call(written, json!({}), &caller).await;
            let kinds = [ErrorKind::NotFound, ErrorKind::Unavailable].map(CallStatus::Error);
            assert!(kinds.contains(&result.status), "{written}: {}", result.content);
        }
    }
}

/// The tools of the six domains: system, network, file, code, multimedia and
/// platform.
#[rustfmt::skip]
const SIX_DOMAINS: &[&str] = &[
    "terminal", "process_manager", "env_manager", "cron_scheduler", "system_info", "clipboard",
    "notification", "sleep",
    "web_search", "browser_navigate", "browser_click", "browser_screenshot", "http_request",
    "rss_reader", "html_extract", "link_checker", "dns_lookup",
    "file_read", "file_write", "file_search", "directory_list", "file_compress", "file_diff",
    "file_watch",
    "code_execute", "code_lint", "code_format", "code_test", "code_debug", "repl",
    "image_analyze", "image_generate", "image_edit", "audio_transcribe", "pdf_extract",
    "chart_generate",
    "git_operations", "docker_manage", "database_query", "api_call", "email_send",
    "calendar_manage", "spreadsheet", "cloud_storage",
];

#[tokio::test]
async fn every_tool_of_the_six_domains_is_found_or_says_that_it_is_not_built() {
    assert_eq!(SIX_DOMAINS.len(), 44);
    let directory = tempfile::tempdir().unwrap();
    let hermes = hermes(directory.path());
    let (caller, snapshot) = (hermes.caller(), hermes.engine().snapshot());
    let mut built = 0;
    for name in SIX_DOMAINS {
        // No tool has this argument, so none runs.
        let result = hermes.call(name, json!({"no_such_argument": true}), &caller).await;
        if snapshot.find(name).is_some() {
            built += 1;
            // A clipboard needs a desktop.
            let words = ["no_such_argument", "is not available here"];
            let is_found = words.iter().any(|word| result.content.contains(word));
            assert!(is_found, "{name}: {}", result.content);
            assert_eq!(result.called_name(), *name);
        } else {
            assert_eq!(result.status, CallStatus::Error(ErrorKind::Unavailable), "{name}");
            assert!(result.content.contains("not part of this build"), "{}", result.content);
        }
    }
    assert!(built >= 21, "{built}");
}

#[tokio::test]
async fn large_arguments_are_refused_before_they_cost_memory() {
    let directory = tempfile::tempdir().unwrap();
    let hermes = hermes(directory.path());
    let caller = hermes.caller();
    let long = |bytes: usize| "(a|b)".repeat(bytes / 5 + 1);
    for (tool, argument, bytes, next) in [
        ("search_files", "pattern", 64 * 1024, "grep -f"),
        ("terminal", "command", 1024 * 1024, "write_file"),
    ] {
        let result = hermes.call(tool, json!({argument: long(bytes)}), &caller).await;
        assert_eq!(result.status, CallStatus::Error(ErrorKind::InvalidArguments), "{tool}");
        for part in [format!("`{argument}` is too long"), bytes.to_string(), next.to_owned()] {
            assert!(result.content.contains(&part), "{part}: {}", result.content);
        }
    }
    let result = hermes.call("search_files", json!({"pattern": "(a|b)"}), &caller).await;
    assert!(result.is_success(), "{}", result.content);
}

#[tokio::test]
async fn a_write_answers_with_success_and_path_under_the_name_that_was_called() {
    let directory = tempfile::tempdir().unwrap();
    let hermes = hermes(directory.path());
    let arguments = json!({"filePath": "summary.md", "content": "# Notes\n"});
    let result = hermes.call("file_write", arguments, &hermes.caller()).await;
    let answer: serde_json::Value = serde_json::from_str(&result.content).unwrap();
    assert_eq!(answer["success"], true, "{answer}");
    assert_eq!(answer["path"], "summary.md");
    assert_eq!((result.called_name(), &*result.name), ("file_write", "write_file"));
}
