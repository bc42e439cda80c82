//! The built-in toolsets, ordered by kind: leaves, composites, postures,
//! platforms; tools are in the order of the tool catalogue. `rustfmt::skip`
//! keeps several names on a line.

use serde::Serialize;

/// The kind of a toolset. Disabling a platform or a posture keeps the core
/// tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolsetKind {
    /// Tools of one subject.
    Leaf,
    /// A combination of other toolsets for a purpose.
    Composite,
    /// A way of working that a session adopts as a whole.
    Posture,
    /// The tools available on one platform that the agent runs on.
    Platform,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolsetDefinition {
    pub name: &'static str,
    pub description: &'static str,
    pub tools: &'static [&'static str],
    pub includes: &'static [&'static str],
    pub kind: ToolsetKind,
}

/// A former name with a fixed list of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyToolset {
    pub name: &'static str,
    pub tools: &'static [&'static str],
}

/// The tools that disabling a platform or a posture keeps.
#[rustfmt::skip]
pub const CORE_TOOLS: &[&str] = &[
    "read_file", "write_file", "patch", "search_files",
    "terminal", "process",
    "cronjob",
    "web_search", "web_extract",
    "browser_navigate", "browser_snapshot", "browser_click", "browser_type",
    "browser_scroll", "browser_back", "browser_press", "browser_get_images",
    "browser_vision", "browser_console", "browser_cdp", "browser_dialog",
    "execute_code",
    "vision_analyze", "image_generate", "text_to_speech",
    "todo", "memory", "session_search", "clarify", "delegate_task",
    "skills_list", "skill_view", "skill_manage",
    "ha_list_entities", "ha_get_state", "ha_list_services", "ha_call_service",
];

#[rustfmt::skip]
const CODING_TOOLS: &[&str] = &[
    "read_file", "write_file", "patch", "search_files",
    "terminal", "process",
    "web_search", "web_extract",
    "browser_navigate", "browser_snapshot", "browser_click", "browser_type",
    "browser_scroll", "browser_back", "browser_press", "browser_get_images",
    "browser_vision", "browser_console", "browser_cdp", "browser_dialog",
    "execute_code",
    "vision_analyze",
    "todo", "memory", "session_search", "clarify", "delegate_task",
    "skills_list", "skill_view", "skill_manage",
];

/// Every leaf except `clarify`, which needs a user to ask.
#[rustfmt::skip]
const FAMILIES_WITHOUT_CLARIFY: &[&str] = &[
    "file", "terminal", "system", "cronjob", "web", "network", "platform", "browser",
    "code_execution", "code", "vision", "image_gen", "image", "tts", "audio", "document",
    "git", "docker", "database", "email", "calendar", "cloud", "todo", "memory",
    "session_search", "delegation", "moa", "messaging", "skills", "rl", "homeassistant",
];

const fn leaf(
    name: &'static str,
    description: &'static str,
    tools: &'static [&'static str],
) -> ToolsetDefinition {
    ToolsetDefinition { name, description, tools, includes: &[], kind: ToolsetKind::Leaf }
}

const fn composite(
    name: &'static str,
    description: &'static str,
    tools: &'static [&'static str],
    includes: &'static [&'static str],
) -> ToolsetDefinition {
    ToolsetDefinition { name, description, tools, includes, kind: ToolsetKind::Composite }
}

/// Every tool can be found on every platform; the definitions that a model sees
/// are chosen by their value.
const fn platform(
    name: &'static str,
    description: &'static str,
    tools: &'static [&'static str],
) -> ToolsetDefinition {
    let includes = FAMILIES_WITHOUT_CLARIFY;
    ToolsetDefinition { name, description, tools, includes, kind: ToolsetKind::Platform }
}

#[rustfmt::skip]
pub const BUILTIN_TOOLSETS: &[ToolsetDefinition] = &[
    leaf("file", "Read, write, edit, find, compare, pack and watch files", &[
        "read_file", "write_file", "patch", "search_files",
        "directory_list", "file_compress", "file_diff", "file_watch",
    ]),
    leaf("terminal", "Run commands and manage background processes", &["terminal", "process"]),
    leaf("system", "The machine itself: environment, metrics, clipboard, notifications, waiting", &[
        "env_manager", "system_info", "clipboard", "notification", "sleep",
    ]),
    leaf("cronjob", "Run tasks on a schedule", &["cronjob"]),
    leaf("web", "Search the web, extract pages, crawl sites", &[
        "web_search", "web_extract", "web_crawl",
    ]),
    leaf("search", "Web search alone, without extraction", &["web_search"]),
    leaf("network", "HTTP requests, HTML, feeds, links and DNS", &[
        "http_request", "html_extract", "rss_reader", "link_checker", "dns_lookup",
    ]),
    leaf("platform", "Services described by an OpenAPI document", &["api_call"]),
    leaf("browser", "Control a real browser; web search finds the pages to open", &[
        "web_search",
        "browser_navigate", "browser_snapshot", "browser_click", "browser_type",
        "browser_scroll", "browser_back", "browser_press", "browser_get_images",
        "browser_vision", "browser_console", "browser_screenshot", "browser_cdp",
        "browser_dialog",
    ]),
    leaf("code_execution", "Scripts that call tools as functions", &["execute_code"]),
    leaf("code", "Interactive interpreters, linting, formatting, testing, debugging", &[
        "repl", "code_lint", "code_format", "code_test", "code_debug",
    ]),
    leaf("vision", "Analyze images: description and text recognition", &["vision_analyze"]),
    leaf("image_gen", "Generate images from text", &["image_generate"]),
    leaf("image", "Edit images", &["image_edit"]),
    leaf("tts", "Convert text to speech", &["text_to_speech"]),
    leaf("audio", "Transcribe speech", &["audio_transcribe"]),
    leaf("document", "PDF, charts and spreadsheets", &[
        "pdf_extract", "chart_generate", "spreadsheet",
    ]),
    leaf("git", "Version control", &["git_operations"]),
    leaf("docker", "Containers and images", &["docker_manage"]),
    leaf("database", "Query SQL databases, MongoDB and Redis", &["database_query"]),
    leaf("email", "Send e-mail", &["email_send"]),
    leaf("calendar", "Calendars and appointments", &["calendar_manage"]),
    leaf("cloud", "Object storage", &["cloud_storage"]),
    leaf("todo", "Plan a task in several steps", &["todo"]),
    leaf("memory", "Notes that outlast the session", &["memory"]),
    leaf("session_search", "Find and recall earlier conversations", &["session_search"]),
    leaf("clarify", "Ask the user a question", &["clarify"]),
    leaf("delegation", "Hand parts of a task to sub-agents", &["delegate_task"]),
    leaf("moa", "Put one question to several models and merge their answers", &["mixture_of_agents"]),
    leaf("messaging", "Send messages to chat platforms", &["send_message"]),
    leaf("skills", "Find, read and maintain skills", &["skills_list", "skill_view", "skill_manage"]),
    leaf("rl", "Reinforcement-learning environments and training runs", &[
        "rl_list_environments", "rl_select_environment", "rl_get_config", "rl_edit_config",
        "rl_start_training", "rl_check_status", "rl_stop_training", "rl_get_results",
        "rl_list_runs", "rl_test_inference",
    ]),
    leaf("homeassistant", "Smart-home devices through Home Assistant", &[
        "ha_list_entities", "ha_get_state", "ha_list_services", "ha_call_service",
    ]),
    composite("debugging", "Find and fix bugs: commands, files, tests, a debugger and the web",
        &["terminal", "process"], &["web", "file", "code"]),
    composite("safe", "No commands and no files: web, vision and image generation",
        &[], &["web", "vision", "image_gen"]),
    ToolsetDefinition {
        name: "coding",
        description: "Work in a code base: files, commands, code, web, browser, planning, delegation",
        tools: CODING_TOOLS,
        includes: &["code"],
        kind: ToolsetKind::Posture,
    },
    platform("hermes-acp", "Inside an editor, over the Agent Client Protocol", &[]),
    platform("hermes-api-server", "Behind the HTTP interface", &[]),
    platform("hermes-cli", "At the terminal", CORE_TOOLS),
    platform("hermes-cron", "In scheduled tasks", CORE_TOOLS),
    platform("hermes-telegram", "On Telegram", CORE_TOOLS),
    platform("hermes-discord", "On Discord", CORE_TOOLS),
    platform("hermes-whatsapp", "On WhatsApp", CORE_TOOLS),
    platform("hermes-slack", "On Slack", CORE_TOOLS),
    platform("hermes-signal", "On Signal", CORE_TOOLS),
    platform("hermes-bluebubbles", "On iMessage, through BlueBubbles", CORE_TOOLS),
    platform("hermes-homeassistant", "In Home Assistant conversations", CORE_TOOLS),
    platform("hermes-email", "By e-mail", CORE_TOOLS),
    platform("hermes-sms", "By SMS", CORE_TOOLS),
    platform("hermes-mattermost", "On Mattermost", CORE_TOOLS),
    platform("hermes-matrix", "On Matrix", CORE_TOOLS),
    platform("hermes-dingtalk", "On DingTalk", CORE_TOOLS),
    platform("hermes-feishu", "On Feishu and Lark", CORE_TOOLS),
    platform("hermes-wecom", "On WeCom", CORE_TOOLS),
    platform("hermes-wecom-callback", "On WeCom, through its callback interface", CORE_TOOLS),
    platform("hermes-weixin", "On Weixin", CORE_TOOLS),
    platform("hermes-qqbot", "On QQ", CORE_TOOLS),
    platform("hermes-yuanbao", "On Yuanbao", CORE_TOOLS),
    // Webhook payloads are untrusted, so no tool that acts is included.
    ToolsetDefinition {
        name: "hermes-webhook",
        description: "For webhooks, whose content is untrusted",
        tools: &["web_search", "web_extract", "vision_analyze", "clarify"],
        includes: &[],
        kind: ToolsetKind::Platform,
    },
    ToolsetDefinition {
        name: "hermes-gateway",
        description: "All messaging platforms",
        tools: &[],
        includes: &[
            "hermes-telegram", "hermes-discord", "hermes-whatsapp", "hermes-slack",
            "hermes-signal", "hermes-bluebubbles", "hermes-homeassistant", "hermes-email",
            "hermes-sms", "hermes-mattermost", "hermes-matrix", "hermes-dingtalk",
            "hermes-feishu", "hermes-wecom", "hermes-wecom-callback", "hermes-weixin",
            "hermes-qqbot", "hermes-webhook", "hermes-yuanbao",
        ],
        kind: ToolsetKind::Platform,
    },
];

#[rustfmt::skip]
pub const LEGACY_TOOLSETS: &[LegacyToolset] = &[
    LegacyToolset { name: "web_tools", tools: &["web_search", "web_extract"] },
    LegacyToolset { name: "terminal_tools", tools: &["terminal"] },
    LegacyToolset { name: "vision_tools", tools: &["vision_analyze"] },
    LegacyToolset { name: "image_tools", tools: &["image_generate"] },
    LegacyToolset { name: "skills_tools", tools: &["skills_list", "skill_view", "skill_manage"] },
    LegacyToolset {
        name: "browser_tools",
        tools: &[
            "browser_navigate", "browser_snapshot", "browser_click", "browser_type",
            "browser_scroll", "browser_back", "browser_press", "browser_get_images",
            "browser_vision", "browser_console",
        ],
    },
    LegacyToolset { name: "cronjob_tools", tools: &["cronjob"] },
    LegacyToolset { name: "file_tools", tools: &["read_file", "write_file", "patch", "search_files"] },
    LegacyToolset { name: "tts_tools", tools: &["text_to_speech"] },
];

/// Toolsets of Hermes Agent that have no tools here. A shared configuration may
/// name them: disabling one is valid, enabling one is an error.
#[rustfmt::skip]
const ABSENT_TOOLSETS: &[&str] = &[
    "x_search", "video", "video_gen", "computer_use", "context_engine", "project", "kanban",
    "discord", "discord_admin", "yuanbao", "feishu_doc", "feishu_drive", "spotify",
];

pub(super) fn find(name: &str) -> Option<&'static ToolsetDefinition> {
    BUILTIN_TOOLSETS.iter().find(|toolset| toolset.name == name)
}

pub(super) fn find_legacy(name: &str) -> Option<&'static LegacyToolset> {
    LEGACY_TOOLSETS.iter().find(|toolset| toolset.name == name)
}

pub(super) fn is_absent(name: &str) -> bool {
    ABSENT_TOOLSETS.contains(&name)
}

pub(super) fn has_tool(name: &str) -> bool {
    BUILTIN_TOOLSETS.iter().any(|toolset| toolset.tools.contains(&name))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
