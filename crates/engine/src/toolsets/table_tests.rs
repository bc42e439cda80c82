use std::collections::{HashMap, HashSet};

use super::{
    ABSENT_TOOLSETS, BUILTIN_TOOLSETS, CORE_TOOLS, LEGACY_TOOLSETS, ToolsetKind, find, find_legacy,
    has_tool,
};

/// Every built-in tool with the toolset that it belongs to, in catalogue order.
#[rustfmt::skip]
const CATALOGUE: &[(&str, &[&str])] = &[
    ("file", &["read_file", "write_file", "patch", "search_files", "directory_list", "file_compress", "file_diff", "file_watch"]),
    ("terminal", &["terminal", "process"]),
    ("system", &["env_manager"]),
    ("cronjob", &["cronjob"]),
    ("system", &["system_info", "clipboard", "notification", "sleep"]),
    ("web", &["web_search", "web_extract", "web_crawl"]),
    ("network", &["http_request", "html_extract", "rss_reader", "link_checker", "dns_lookup"]),
    ("platform", &["api_call"]),
    ("browser", &["browser_navigate", "browser_snapshot", "browser_click", "browser_type", "browser_scroll", "browser_back", "browser_press", "browser_get_images", "browser_vision", "browser_console", "browser_screenshot", "browser_cdp", "browser_dialog"]),
    ("code_execution", &["execute_code"]),
    ("code", &["repl", "code_lint", "code_format", "code_test", "code_debug"]),
    ("vision", &["vision_analyze"]),
    ("image_gen", &["image_generate"]),
    ("image", &["image_edit"]),
    ("tts", &["text_to_speech"]),
    ("audio", &["audio_transcribe"]),
    ("document", &["pdf_extract", "chart_generate"]),
    ("git", &["git_operations"]),
    ("docker", &["docker_manage"]),
    ("database", &["database_query"]),
    ("email", &["email_send"]),
    ("calendar", &["calendar_manage"]),
    ("document", &["spreadsheet"]),
    ("cloud", &["cloud_storage"]),
    ("todo", &["todo"]),
    ("memory", &["memory"]),
    ("session_search", &["session_search"]),
    ("clarify", &["clarify"]),
    ("delegation", &["delegate_task"]),
    ("moa", &["mixture_of_agents"]),
    ("messaging", &["send_message"]),
    ("skills", &["skills_list", "skill_view", "skill_manage"]),
    ("rl", &["rl_list_environments", "rl_select_environment", "rl_get_config", "rl_edit_config", "rl_start_training", "rl_check_status", "rl_stop_training", "rl_get_results", "rl_list_runs", "rl_test_inference"]),
    ("homeassistant", &["ha_list_entities", "ha_get_state", "ha_list_services", "ha_call_service"]),
];

fn places() -> HashMap<&'static str, usize> {
    let tools = CATALOGUE.iter().flat_map(|(_, tools)| tools.iter().copied());
    tools.enumerate().map(|(place, tool)| (tool, place)).collect()
}

#[test]
fn every_tool_of_the_catalogue_is_in_its_toolset() {
    for (toolset, tools) in CATALOGUE {
        let def = find(toolset).unwrap_or_else(|| panic!("{toolset} is missing"));
        for tool in *tools {
            assert!(def.tools.contains(tool), "{tool} is not in {toolset}");
        }
    }
}

#[test]
fn a_leaf_holds_nothing_foreign_but_the_search_that_feeds_browser_and_search() {
    let mut owned: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (toolset, tools) in CATALOGUE {
        owned.entry(toolset).or_default().extend(tools.iter());
    }
    for def in BUILTIN_TOOLSETS.iter().filter(|def| def.kind == ToolsetKind::Leaf) {
        let own = owned.get(def.name).cloned().unwrap_or_default();
        let foreign: Vec<_> = def.tools.iter().filter(|tool| !own.contains(**tool)).collect();
        match def.name {
            "browser" | "search" => assert_eq!(foreign, [&"web_search"], "{}", def.name),
            name => assert!(foreign.is_empty(), "{name}: {foreign:?}"),
        }
    }
}

#[test]
fn names_are_unique_and_of_the_allowed_form() {
    let mut seen = HashSet::new();
    let names = BUILTIN_TOOLSETS.iter().map(|def| def.name);
    let old = LEGACY_TOOLSETS.iter().map(|def| def.name);
    for name in names.chain(old).chain(ABSENT_TOOLSETS.iter().copied()).chain(["all"]) {
        assert!(seen.insert(name), "{name} twice");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'-'), "{name}");
    }
}

#[test]
fn tools_are_in_the_catalogue_in_its_order_and_each_once() {
    let places = places();
    let lists = BUILTIN_TOOLSETS.iter().map(|def| (def.name, def.tools));
    let old = LEGACY_TOOLSETS.iter().map(|def| (def.name, def.tools));
    for (name, tools) in lists.chain(old).chain([("core", CORE_TOOLS)]) {
        let order: Vec<usize> = tools
            .iter()
            .map(|tool| *places.get(tool).unwrap_or_else(|| panic!("{name}: {tool}")))
            .collect();
        assert!(order.is_sorted_by(|a, b| a < b), "{name}: {tools:?}");
    }
}

#[test]
fn includes_exist_and_are_not_repeated() {
    for def in BUILTIN_TOOLSETS {
        let mut seen = HashSet::new();
        for include in def.includes {
            assert!(find(include).is_some(), "{} includes {include}", def.name);
            assert_ne!(*include, def.name);
            assert!(seen.insert(include), "{} includes {include} twice", def.name);
        }
    }
}

#[test]
fn kinds_follow_one_another_and_fit_their_toolsets() {
    assert!(BUILTIN_TOOLSETS.is_sorted_by_key(|def| def.kind));
    for def in BUILTIN_TOOLSETS {
        assert_eq!(
            def.kind == ToolsetKind::Platform,
            def.name.starts_with("hermes-"),
            "{}",
            def.name
        );
        assert_eq!(def.kind == ToolsetKind::Posture, def.name == "coding");
        if def.kind == ToolsetKind::Leaf {
            assert!(def.includes.is_empty() && !def.tools.is_empty(), "{}", def.name);
        }
        assert!(!def.description.is_empty(), "{}", def.name);
    }
}

#[test]
fn the_lists_have_the_sizes_that_their_definitions_give() {
    assert_eq!(CORE_TOOLS.len(), 37);
    let size = |name| find(name).map(|def| def.tools.len());
    assert_eq!(size("coding"), Some(30));
    assert_eq!(find("hermes-gateway").map(|def| def.includes.len()), Some(19));
    assert_eq!(find_legacy("browser_tools").map(|def| def.tools.len()), Some(10));
}

#[test]
fn only_tools_of_the_table_are_known_to_it() {
    assert!(has_tool("spreadsheet"));
    assert!(!has_tool("file"));
}

#[test]
fn platforms_hold_every_family() {
    let leaves = BUILTIN_TOOLSETS.iter().filter(|def| def.kind == ToolsetKind::Leaf);
    // The tools of `search` are also in `web`.
    let wanted: Vec<&str> =
        leaves.map(|def| def.name).filter(|name| !["search", "clarify"].contains(name)).collect();
    for def in BUILTIN_TOOLSETS.iter().filter(|def| def.kind == ToolsetKind::Platform) {
        if !["hermes-webhook", "hermes-gateway"].contains(&def.name) {
            assert_eq!(def.includes, wanted, "{}", def.name);
        }
    }
}
