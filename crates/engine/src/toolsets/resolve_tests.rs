#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::json;

use crate::toolsets::fake_index::FakeIndex;
use crate::toolsets::table::{BUILTIN_TOOLSETS, ToolsetKind};
use crate::toolsets::{CustomToolsets, ToolSelection, ToolsetCatalog, ToolsetError};

fn resolve(name: &str) -> Vec<String> {
    ToolsetCatalog::default().resolve(name, &()).unwrap()
}

/// Stored toolsets, given as (name, tools, includes).
fn custom(rows: &[(&str, &[&str], &[&str])]) -> ToolsetCatalog {
    let toolsets: serde_json::Map<_, _> = rows
        .iter()
        .map(|(name, tools, includes)| {
            ((*name).to_owned(), json!({"tools": tools, "includes": includes}))
        })
        .collect();
    let text = json!({"version": 1, "toolsets": toolsets}).to_string();
    ToolsetCatalog::load(CustomToolsets::parse(&text).unwrap(), &(), &|_| None).unwrap()
}

fn selection(enabled: Option<&[&str]>, disabled: &[&str]) -> ToolSelection {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    ToolSelection { enabled: enabled.map(owned), disabled: owned(disabled) }
}

fn union(lists: &[&[&str]]) -> Vec<String> {
    let names: BTreeSet<&str> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    names.into_iter().map(String::from).collect()
}

const FILE: &[&str] = &[
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "directory_list",
    "file_compress",
    "file_diff",
    "file_watch",
];
const WEB: &[&str] = &["web_search", "web_extract", "web_crawl"];
const CODE: &[&str] = &["repl", "code_lint", "code_format", "code_test", "code_debug"];

#[test]
fn composites_are_the_union_of_their_parts() {
    assert_eq!(resolve("debugging"), union(&[FILE, WEB, CODE, &["terminal", "process"]]));
    assert_eq!(resolve("safe"), union(&[WEB, &["vision_analyze", "image_generate"]]));
    assert_eq!(resolve("search"), ["web_search"]);
}

#[test]
fn safe_and_webhook_cannot_act_on_the_machine() {
    assert_eq!(
        resolve("hermes-webhook"),
        ["clarify", "vision_analyze", "web_extract", "web_search"]
    );
    let acting = ["terminal", "process", "execute_code", "write_file", "patch", "read_file"];
    for toolset in ["safe", "hermes-webhook"] {
        let tools = resolve(toolset);
        assert!(acting.iter().all(|tool| !tools.iter().any(|t| t == tool)), "{toolset}");
    }
}

#[test]
fn every_tool_is_reachable_on_every_platform() {
    let everything = resolve("all");
    for platform in ["hermes-cli", "hermes-cron", "hermes-telegram", "hermes-gateway"] {
        assert_eq!(resolve(platform), everything, "{platform}");
    }
    // Editors and programs have no user to ask.
    let mut without_clarify = everything;
    without_clarify.retain(|tool| tool != "clarify");
    for platform in ["hermes-acp", "hermes-api-server"] {
        assert_eq!(resolve(platform), without_clarify, "{platform}");
    }
}

#[test]
fn every_toolset_resolves_sorted_and_without_repetition() {
    let everything: BTreeSet<String> = resolve("all").into_iter().collect();
    for def in BUILTIN_TOOLSETS {
        let tools = resolve(def.name);
        assert!(tools.is_sorted_by(|a, b| a < b), "{}", def.name);
        assert!(tools.iter().all(|tool| everything.contains(tool)), "{}", def.name);
    }
    assert_eq!(resolve("*"), resolve("all"));
    assert_eq!(everything.len(), 82);
}

#[test]
fn old_names_keep_their_fixed_lists() {
    let index = FakeIndex::default().with("file_tools", &["shred"]).with("web", &["wayback"]);
    let toolsets = ToolsetCatalog::default();
    assert_eq!(
        toolsets.resolve("file_tools", &()).unwrap(),
        union(&[&["read_file", "write_file", "patch", "search_files"]])
    );
    assert_eq!(toolsets.resolve("web_tools", &index).unwrap(), ["web_extract", "web_search"]);
    let browser = toolsets.resolve("browser_tools", &()).unwrap();
    assert_eq!(browser.len(), 10);
    assert!(!browser.iter().any(|tool| tool == "browser_cdp" || tool == "browser_dialog"));
}

#[test]
fn registered_tools_extend_toolsets_and_make_new_ones() {
    let index = FakeIndex::default()
        .with("terminal", &["tmux"])
        .with("mcp-github", &["mcp__github__create_issue"])
        .alias("github", "mcp-github");
    let toolsets = ToolsetCatalog::default();
    assert_eq!(toolsets.resolve("terminal", &index).unwrap(), ["process", "terminal", "tmux"]);
    let server = ["mcp__github__create_issue"];
    assert_eq!(toolsets.resolve("mcp-github", &index).unwrap(), server);
    assert_eq!(toolsets.resolve("github", &index).unwrap(), server);
    let all = toolsets.resolve("all", &index).unwrap();
    assert!(all.iter().any(|tool| tool == "tmux") && all.iter().any(|tool| tool == server[0]));
    assert!(toolsets.names(&index).iter().any(|name| name == "mcp-github"));
    assert!(toolsets.contains("github", &index) && !toolsets.contains("github", &()));
}

#[test]
fn an_alias_never_shadows_a_toolset_nor_loops() {
    let index = FakeIndex::default()
        .with("mcp-web", &["mcp__web__x"])
        .alias("web", "mcp-web")
        .alias("a", "b")
        .alias("b", "a");
    let toolsets = ToolsetCatalog::default();
    assert_eq!(toolsets.resolve("web", &index).unwrap(), union(&[WEB]));
    assert!(matches!(toolsets.resolve("a", &index), Err(ToolsetError::Unknown { .. })));
}

#[test]
fn an_unknown_name_is_an_error_that_suggests() {
    let error = ToolsetCatalog::default().resolve("wbe", &()).unwrap_err();
    assert_eq!(error.to_string(), "there is no toolset `wbe`; did you mean `web`?");
    assert_eq!(error.suggestions(), ["web"]);
    let error = ToolsetCatalog::default().resolve(&"\n".repeat(1_000_000), &()).unwrap_err();
    assert!(error.to_string().len() < 300);
}

#[test]
fn diamonds_count_once_and_cycles_end() {
    let toolsets = custom(&[
        ("top", &[], &["left", "right"]),
        ("left", &["terminal"], &["bottom"]),
        ("right", &["process"], &["bottom"]),
        ("bottom", &["todo"], &[]),
        ("a", &["memory"], &["b"]),
        ("b", &["clarify"], &["c", "b"]),
        ("c", &["todo"], &["a"]),
    ]);
    assert_eq!(toolsets.resolve("top", &()).unwrap(), ["process", "terminal", "todo"]);
    for name in ["a", "b", "c"] {
        assert_eq!(toolsets.resolve(name, &()).unwrap(), ["clarify", "memory", "todo"], "{name}");
    }
}

#[test]
fn a_chain_of_ten_thousand_includes_resolves() {
    let mut toolsets = serde_json::Map::new();
    for link in 0..10_000 {
        let includes =
            if link == 9_999 { vec!["todo".to_owned()] } else { vec![format!("c{}", link + 1)] };
        toolsets.insert(format!("c{link}"), json!({"tools": ["memory"], "includes": includes}));
    }
    let text = json!({"toolsets": toolsets}).to_string();
    let toolsets =
        ToolsetCatalog::load(CustomToolsets::parse(&text).unwrap(), &(), &|_| None).unwrap();
    assert_eq!(toolsets.resolve("c0", &()).unwrap(), ["memory", "todo"]);
}

#[test]
fn including_all_is_everything() {
    let toolsets = custom(&[("mine", &[], &["*"]), ("other", &["extra"], &["all"])]);
    let all = toolsets.resolve("all", &()).unwrap();
    assert!(all.iter().any(|tool| tool == "extra"));
    assert_eq!(toolsets.resolve("mine", &()).unwrap(), all);
    assert_eq!(toolsets.summary("mine", &()).unwrap().includes, ["all"]);
}

#[test]
fn no_list_is_everything_and_an_empty_one_nothing() {
    let toolsets = ToolsetCatalog::default();
    let select = |s: &ToolSelection| toolsets.select(s, &()).unwrap();
    assert_eq!(select(&ToolSelection::default()), resolve("all"));
    assert!(select(&selection(Some(&[]), &[])).is_empty());
    assert_eq!(
        select(&selection(Some(&["todo", "web_tools"]), &[])),
        ["todo", "web_extract", "web_search"]
    );
}

#[test]
fn disabled_is_taken_away_last() {
    let toolsets = ToolsetCatalog::default();
    let select = |s: &ToolSelection| toolsets.select(s, &()).unwrap();
    assert_eq!(
        select(&selection(Some(&["debugging", "terminal"]), &["terminal", "file"])),
        union(&[WEB, CODE])
    );
    assert_eq!(
        select(&selection(Some(&["file"]), &["file_tools"])),
        ["directory_list", "file_compress", "file_diff", "file_watch"]
    );
    assert!(select(&selection(None, &["all"])).is_empty());
}

#[test]
fn disabling_a_platform_or_posture_spares_the_core_tools() {
    let index = FakeIndex::default().with("hermes-telegram", &["telegram_poll"]);
    let toolsets = ToolsetCatalog::default();
    let on = selection(Some(&["hermes-telegram"]), &[]);
    let with_extra = toolsets.select(&on, &index).unwrap();
    let everything = resolve("hermes-telegram");
    assert_eq!(with_extra.len(), everything.len() + 1);
    assert!(with_extra.iter().any(|tool| tool == "telegram_poll"));
    for platform in ["hermes-telegram", "hermes-gateway"] {
        let off = selection(Some(&["hermes-telegram"]), &[platform]);
        assert_eq!(toolsets.select(&off, &index).unwrap(), everything, "{platform}");
    }
    let off = selection(Some(&["coding"]), &["coding", "hermes-cli"]);
    let mut rest = resolve("coding");
    rest.retain(|tool| !CODE.contains(&tool.as_str()));
    assert_eq!(toolsets.select(&off, &()).unwrap(), rest);
}

#[test]
fn a_misspelt_name_is_an_error_on_either_side() {
    let toolsets = ToolsetCatalog::default();
    for wrong in [selection(Some(&["fle"]), &[]), selection(None, &["fle"])] {
        let error = toolsets.select(&wrong, &()).unwrap_err();
        assert_eq!(error.suggestions().first().map(String::as_str), Some("file"), "{error}");
    }
}

#[test]
fn what_only_hermes_agent_has_may_be_disabled_but_not_asked_for() {
    let toolsets = ToolsetCatalog::default();
    let off = selection(Some(&["todo"]), &["kanban", "spotify"]);
    assert_eq!(toolsets.select(&off, &()).unwrap(), ["todo"]);
    let error = toolsets.select(&selection(Some(&["kanban"]), &[]), &()).unwrap_err();
    assert_eq!(error, ToolsetError::Absent { name: "kanban".to_owned() });
    let index = FakeIndex::default().with("kanban", &["kanban_show"]);
    assert_eq!(toolsets.resolve("kanban", &index).unwrap(), ["kanban_show"]);
}

#[test]
fn info_has_the_published_fields() {
    let index = FakeIndex::default().with("debugging", &["strace"]);
    let info = ToolsetCatalog::default().summary("debugging", &index).unwrap();
    assert_eq!(info.direct, ["process", "strace", "terminal"]);
    assert_eq!(info.includes, ["web", "file", "code"]);
    assert_eq!(info.tool_count, info.tools.len());
    assert!(info.is_composite && !info.custom);
    let shown =
        serde_json::to_value(ToolsetCatalog::default().summary("search", &()).unwrap()).unwrap();
    assert_eq!(
        shown,
        json!({
            "name": "search",
            "description": "Web search alone, without extraction",
            "tools": ["web_search"],
            "direct": ["web_search"],
            "includes": [],
            "tool_count": 1,
            "is_composite": false,
            "custom": false,
            "kind": "leaf",
        })
    );
}

#[test]
fn info_tells_where_a_toolset_comes_from() {
    let index = FakeIndex::default().with("mcp-gh", &["mcp__gh__x"]).alias("gh", "mcp-gh");
    let toolsets = custom(&[("mine", &["todo"], &["web"])]);
    let info = |name| toolsets.summary(name, &index).unwrap();
    assert_eq!(info("gh").name, "mcp-gh");
    assert_eq!(info("gh").description, "Tools of the MCP server gh");
    assert!(info("mine").custom);
    assert_eq!(info("mine").kind, ToolsetKind::Composite);
    assert_eq!(info("hermes-cli").kind, ToolsetKind::Platform);
    let all = info("*");
    assert_eq!((all.name.as_str(), all.is_composite), ("all", true));
    assert!(all.direct.is_empty() && all.tool_count > 80);
}

/// Random graphs, cycles among them: against the definition, computed by
/// adding members until nothing changes.
#[test]
fn resolution_is_the_least_fixed_point_whatever_the_order_of_includes() {
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..200 {
        let count = 1 + random(8);
        let names: Vec<String> = (0..count).map(|i| format!("t{i}")).collect();
        let tools: Vec<String> = (0..count).map(|i| format!("tool{}", i / 2)).collect();
        let edges: Vec<Vec<usize>> =
            (0..count).map(|_| (0..random(4)).map(|_| random(count)).collect()).collect();
        let build = |reversed: bool| {
            let mut toolsets = serde_json::Map::new();
            for i in 0..count {
                let mut includes: Vec<&String> = edges[i].iter().map(|&j| &names[j]).collect();
                if reversed {
                    includes.reverse();
                }
                toolsets
                    .insert(names[i].clone(), json!({"tools": [tools[i]], "includes": includes}));
            }
            let text = json!({"toolsets": toolsets}).to_string();
            ToolsetCatalog::load(CustomToolsets::parse(&text).unwrap(), &(), &|_| None).unwrap()
        };
        let mut expected: Vec<BTreeSet<String>> =
            tools.iter().map(|tool| BTreeSet::from([tool.clone()])).collect();
        for _ in 0..count {
            for i in 0..count {
                for &j in &edges[i] {
                    let more = expected[j].clone();
                    expected[i].extend(more);
                }
            }
        }
        let (one, other) = (build(false), build(true));
        for (name, expected) in names.iter().zip(expected) {
            let expected: Vec<String> = expected.into_iter().collect();
            assert_eq!(one.resolve(name, &()).unwrap(), expected);
            assert_eq!(other.resolve(name, &()).unwrap(), expected);
        }
    }
}
