//! `hermes permissions check` and `explain`: judge a call without making it.

use std::sync::Arc;

use hermes::core::{
    CallArguments, CallProposal, Confinement, Effect, ErrorKind, InlineCode, Resource, Scope,
    Session, ToolAnnotations, ToolCall, WorkingDir,
};
use hermes::engine::{Caller, RegistrySnapshot, SecretSource as _};
use hermes::policy::{CallExamination, PermissionPolicy, PolicyAnswer, PolicyFinding};
use hermes_store::FileSessionStore;
use serde_json::{Value, json};

use super::PermissionCheckArgs;
use crate::app::{AppContext, AppServices, working_dir};
use crate::call_arguments;
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::commands::{call, runtime};
use crate::table::TextTable;
use crate::terminal::{OutputStyle, one_line};
use hermes::RedactingStore;

/// The call to judge.
struct JudgedCall {
    tool: String,
    toolset: String,
    arguments: Value,
    effects: Vec<Effect>,
    annotations: ToolAnnotations,
    working_dir: Arc<WorkingDir>,
}

impl JudgedCall {
    fn code(&self, tools: &RegistrySnapshot) -> Option<InlineCode<'_>> {
        tools.get(&self.tool)?.spec().inline_code(&self.arguments)
    }
}

pub(crate) fn run(app: &AppContext, args: &PermissionCheckArgs, everything: bool) -> CommandResult {
    let ready = app.services()?;
    ready.offer_cached_tools();
    let mut caller = Caller::new(working_dir(args.cwd.as_deref())?);
    caller.home = std::env::home_dir().filter(|h| h.is_absolute());
    let permissions = app.permissions(&ready, &args.options, &caller.cwd, None)?;
    if let Some(id) = &args.session {
        caller.session = find_session(&ready, id)?;
    }
    let case = build_judged_call(&ready, args, &caller)?;
    let (exam, confinement) = permissions.consider(&CallProposal {
        tool: &case.tool,
        toolset: &case.toolset,
        arguments: &case.arguments,
        effects: &case.effects,
        code: case.code(&ready.engine().snapshot()),
        annotations: case.annotations,
        working_dir: &case.working_dir,
        call_id: "check",
        session: &caller.session,
        task_id: &caller.task_id,
        depth: 0,
    });
    let report = VerdictReport { permissions: &permissions, exam: &exam, case: &case, confinement };
    let redactor = ready.secrets().redactor();
    if app.json {
        let mut line = report.json(everything).to_string();
        redactor.redact_json(&mut line);
        app.terminal.print_line(&line)?;
    } else {
        app.terminal.print_line(&redactor.redact(&report.text(app, everything)))?;
    }
    match exam.answer() {
        PolicyAnswer::Allow => Ok(CliExitCode::Ok),
        _ => Ok(CliExitCode::Kind(ErrorKind::Denied)),
    }
}

/// Opens a stored session. In-memory sessions leave no state to judge by.
fn find_session(ready: &AppServices, id: &str) -> Result<Session, CommandError> {
    let store = FileSessionStore::new(ready.home().session_state_dir());
    let kept = store
        .list()
        .map_err(|error| CommandError::failed(ErrorKind::Internal, error.to_string()))?;
    if !kept.iter().any(|entry| entry.id == id) {
        let message = format!("No stored session named '{id}'");
        return Err(CommandError::not_found(message)
            .hint("The approvals of a session are stored if it was started with --session ID."));
    }
    let store = RedactingStore::new(Box::new(store), Arc::clone(ready.secrets()));
    Ok(Session::new(id, Arc::new(store)))
}

fn build_judged_call(
    ready: &AppServices,
    args: &PermissionCheckArgs,
    caller: &Caller,
) -> Result<JudgedCall, CommandError> {
    // The session may have changed its working directory.
    let moved = match args.cwd {
        None => caller
            .session
            .cwd()
            .map_err(|e| CommandError::failed(ErrorKind::Internal, e.to_string()))?,
        Some(_) => None,
    };
    let at = WorkingDir::new(moved.unwrap_or_else(|| caller.cwd.clone()), caller.home.clone());
    if let Some(tool) = &args.tool {
        return judged_tool_call(ready, tool, &args.arguments, caller);
    }
    let mut effects = Vec::new();
    if let Some(command) = &args.command {
        let resource = Resource::Command(command.clone());
        effects.push(Effect { scope: Scope::TERMINAL_EXECUTE, resource });
    }
    for text in &args.effects {
        let (scope, resource) = match text.split_once('=') {
            Some((scope, resource)) => (scope, Some(resource)),
            None => (text.as_str(), None),
        };
        let is_known = Scope::ALL.iter().any(|known| known.as_str() == scope);
        if !is_known && scope.strip_prefix("mcp:").is_none_or(str::is_empty) {
            let all = Scope::ALL.iter().map(Scope::as_str);
            let near =
                hermes::core::similar::nearest(scope, all, 0.6).filter(|_| scope.contains(':'));
            let hint = near.map_or_else(
                || "For example: --effect file:write=/etc/hosts".to_owned(),
                |near| format!("Did you mean '{near}'?"),
            );
            let message = format!("--effect {text}: unknown scope '{scope}'");
            return Err(CommandError::usage(message).hint(hint));
        }
        effects.push(PermissionPolicy::parse_effect(scope, resource, &at));
    }
    Ok(JudgedCall {
        tool: "terminal".to_owned(),
        toolset: "terminal".to_owned(),
        arguments: args.command.as_ref().map_or(Value::Null, |c| json!({ "command": c })),
        effects,
        annotations: ToolAnnotations::default(),
        working_dir: Arc::new(at),
    })
}

fn judged_tool_call(
    ready: &AppServices,
    tool: &str,
    written: &[String],
    caller: &Caller,
) -> Result<JudgedCall, CommandError> {
    let snapshot = ready.engine().snapshot();
    let entry = call::find_tool(&snapshot, tool);
    let arguments =
        match call_arguments::read_arguments(written, &call::tool_parameters(entry.as_deref()))? {
            Value::String(text) => CallArguments::Text(text),
            value => CallArguments::Json(value),
        };
    let call = ToolCall { id: "check".into(), name: tool.to_owned(), arguments };
    let preview = runtime::block_on_current_thread(ready.engine().preview(call, caller))?;
    let preview = preview.map_err(|result| {
        let error: Value = serde_json::from_str(&result.content).unwrap_or_default();
        let field = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = match result.status {
            hermes::core::CallStatus::Error(kind) => kind,
            hermes::core::CallStatus::Success => ErrorKind::Internal,
        };
        CommandError::failed(kind, field("error")).hint(field("hint"))
    })?;
    Ok(JudgedCall {
        tool: preview.entry.name().to_owned(),
        toolset: preview.entry.toolset().to_owned(),
        annotations: preview.entry.spec().annotations,
        arguments: preview.arguments,
        effects: preview.effects,
        working_dir: preview.working_dir,
    })
}

struct VerdictReport<'a> {
    permissions: &'a PermissionPolicy,
    exam: &'a CallExamination,
    case: &'a JudgedCall,
    confinement: Option<Confinement>,
}

impl VerdictReport<'_> {
    fn json(&self, everything: bool) -> Value {
        let (reason, rule) = match self.permissions.verdict(self.exam) {
            hermes::core::Verdict::Allow => (String::new(), String::new()),
            hermes::core::Verdict::Ask { reason, rule }
            | hermes::core::Verdict::Deny { reason, rule } => (reason, rule),
        };
        let decisive = self.exam.decisive_finding().filter(|f| f.answer != PolicyAnswer::Allow);
        let place = decisive.and_then(|f| f.origin.as_ref()).and_then(|o| o.place.as_ref());
        let mut effects: Vec<&Effect> = Vec::new();
        for effect in self.case.effects.iter().chain(&self.exam.command_effects) {
            if !effects.contains(&effect) {
                effects.push(effect);
            }
        }
        let mut report = json!({
            "schema_version": 1,
            "verdict": self.exam.answer().name(),
            "reason": reason,
            "rule": rule,
            "file": place.map(|place| place.file.display().to_string()),
            "line": place.map(|place| place.line),
            "leaf": decisive.and_then(|finding| finding.leaf.as_deref()),
            "hard": decisive.is_some_and(|finding| finding.hard),
            "profile": self.permissions.profile().name,
            "tool": self.case.tool,
            "effects": effects,
        });
        if let Some(confinement) = &self.confinement {
            report["sandbox"] = json!({
                "write": confinement.write,
                "read_only": confinement.read_only,
                "network": confinement.network,
            });
        }
        if everything {
            let findings: Vec<Value> = self.exam.findings.iter().map(finding_json).collect();
            report["findings"] = findings.into();
            report["confinement"] = json!(self.confinement);
        }
        report
    }

    fn text(&self, app: &AppContext, everything: bool) -> String {
        let terminal = &app.terminal;
        let answer = self.exam.answer();
        let paint = |answer: PolicyAnswer| terminal.paint(answer_style(answer), answer.name());
        let mut lines =
            vec![format!("{}  (profile {})", paint(answer), self.permissions.profile().name)];
        let worth_a_line =
            |finding: &&PolicyFinding| everything || finding.answer != PolicyAnswer::Allow;
        let mut table = TextTable::default();
        for finding in self.exam.findings.iter().filter(worth_a_line) {
            let what = match &finding.leaf {
                Some(leaf) if finding.effect.scope == Scope::TERMINAL_EXECUTE => leaf.to_string(),
                _ => finding.effect.to_string(),
            };
            let origin = finding.origin.as_ref();
            let place = origin.and_then(|o| o.place.as_ref());
            let place = place.map(|p| format!(" at {}:{}", p.file.display(), p.line));
            let rule = origin.map(|o| format!("[{}{}] ", o.rule, place.unwrap_or_default()));
            table.push_row([
                (format!("  {}", finding.answer.name()), Some(answer_style(finding.answer))),
                (shorten(&what), None),
                (format!("{}{}", rule.unwrap_or_default(), finding.reason), Some(OutputStyle::Dim)),
            ]);
        }
        let table = table.render(terminal);
        if !table.is_empty() {
            lines.push(table);
        }
        if let (true, Some(confinement)) = (everything, &self.confinement) {
            let network = confinement.network.name();
            let trees: Vec<String> =
                confinement.write.iter().map(|path| path.display().to_string()).collect();
            lines.push(format!("sandbox: network {network}, writes to {}", trees.join(", ")));
        }
        lines.join("\n")
    }
}

fn shorten(text: &str) -> String {
    crate::table::clip(&one_line(text), 60)
}

fn answer_style(answer: PolicyAnswer) -> OutputStyle {
    match answer {
        PolicyAnswer::Allow => OutputStyle::Green,
        PolicyAnswer::Ask => OutputStyle::Yellow,
        PolicyAnswer::Deny => OutputStyle::Red,
    }
}

fn finding_json(finding: &PolicyFinding) -> Value {
    let origin = finding.origin.as_ref();
    let place = origin.and_then(|o| o.place.as_ref());
    json!({
        "verdict": finding.answer.name(),
        "effect": finding.effect,
        "leaf": finding.leaf.as_deref(),
        "reason": finding.reason,
        "rule": origin.map(|o| o.rule.as_str()),
        "file": place.map(|place| place.file.display().to_string()),
        "line": place.map(|place| place.line),
        "hard": finding.hard,
    })
}
