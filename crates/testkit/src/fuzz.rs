//! The fuzzed properties as plain functions: the fuzz targets call them, and a
//! test runs them over the corpus.

use std::path::Path;

use hermes_core::{CallProposal, Effect, Resource, Scope, Session, ToolAnnotations, WorkingDir};
use hermes_policy::{
    EnforcementSettings, PathVariables, PermissionPolicy, PolicyAnswer, PolicySources, SavedRules,
    TicketStore,
};
use hermes_protocol::{CallDialect, RequestFrame, RequestFramer, parse_bytes};
use hermes_schema::{Schema, coerce_arguments, parse_arguments, tidy_schema, translate};
use serde_json::Value;

/// Reads any bytes as a request, in every dialect.
pub fn dialects(data: &[u8]) {
    let wanted = std::iter::once(None).chain(CallDialect::ALL.into_iter().map(Some));
    for dialect in wanted {
        if let Ok(request) = parse_bytes(data, dialect) {
            assert!(request.calls.iter().all(|call| !call.id.is_empty()), "a call without an id");
        }
    }
}

/// Cuts any bytes into frames, in order, each made of whole lines of the input.
pub fn frames(data: &[u8]) {
    let mut framer = RequestFramer::new(None);
    let mut frames = Vec::new();
    for line in data.split_inclusive(|b| *b == b'\n') {
        frames.extend(framer.push_bytes(line));
    }
    frames.extend(std::iter::from_fn(|| framer.finish()));
    assert!(!frames.is_empty(), "a stream without an answer");
    assert!(frames.is_sorted_by_key(RequestFrame::line), "frames out of order");
    let lines: Vec<&[u8]> = data.split(|b| *b == b'\n').map(without_carriage_return).collect();
    for frame in &frames {
        let _ = frame.parse(None);
        if let RequestFrame::Request { line, text } = frame {
            let own = lines.iter().skip(line - 1);
            let said = text.as_bytes().split(|b| *b == b'\n');
            let from_input = said.zip(own).all(|(said, line)| line.ends_with(said));
            assert!(from_input, "a frame that is not in the input");
        }
    }
}

/// A line without its trailing carriage return.
fn without_carriage_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Repairs any text. Valid JSON must not change; it is refused only for a key
/// with different values.
pub fn repair(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let repaired = parse_arguments(text);
    match &repaired {
        Ok(parsed) => assert!(!parsed.is_guess || !parsed.repairs.is_empty(), "a silent guess"),
        Err(error) => assert!(text.is_char_boundary(error.offset), "an error outside the text"),
    }
    if let Ok(strict) = serde_json::from_str::<Value>(text) {
        let is_object = strict.is_object();
        match repaired {
            Ok(parsed) if is_object => {
                assert_eq!(parsed.value, strict, "valid JSON was changed");
                assert!(!parsed.is_guess, "valid JSON was guessed at");
            }
            Ok(_) => {}
            Err(error) => {
                let is_ambiguous = error.expected == "one value for each key";
                assert!(!is_object || is_ambiguous, "a valid object was refused");
            }
        }
    }
}

/// Judges any text as a command. Every input gets a verdict, a denied command
/// stays denied as part of a longer one, and no additional allow rule or saved
/// approval lifts a denial. The first line is the rule, the rest the command.
pub fn commands(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (rule, command) = text.split_once('\n').unwrap_or(("*", &text));
    thread_local!(static WORLD: PermissionPair = PermissionPair::new());
    WORLD.with(|world| world.compare(rule, command));
}

/// Two sets of permissions, of which one allows more than the other.
struct PermissionPair {
    dir: tempfile::TempDir,
    plain: PermissionPolicy,
}

impl PermissionPair {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let plain = Self::permissions(dir.path(), "").expect("the built-in profiles");
        Self { dir, plain }
    }

    fn permissions(dir: &Path, yaml: &str) -> Option<PermissionPolicy> {
        let places = PathVariables {
            workspace: Some(dir.join("ws")),
            home: Some(dir.join("home")),
            hermes: dir.join("hermes"),
            temp: Vec::new(),
        };
        let own = dir.join("rules.yaml");
        std::fs::write(&own, yaml).ok()?;
        let sources = PolicySources::load(&own, None, places).ok()?;
        let saved = SavedRules::load(dir.join("saved.json")).ok()?;
        let tickets = TicketStore::new(dir.join("tickets"));
        let profile = if yaml.is_empty() { "full_developer" } else { "more" };
        sources.permissions(profile, EnforcementSettings::default(), saved, tickets).ok()
    }

    fn judge(&self, permissions: &PermissionPolicy, command: &str) -> PolicyAnswer {
        let resource = Resource::Command(command.to_owned());
        let effects = [Effect { scope: Scope::TERMINAL_EXECUTE, resource }];
        let root = self.dir.path();
        let at = WorkingDir::new(root.join("ws"), Some(root.join("home")));
        let session = Session::in_memory();
        let (exam, _) = permissions.consider(&CallProposal {
            tool: "terminal",
            toolset: "terminal",
            arguments: &Value::Null,
            effects: &effects,
            code: None,
            annotations: ToolAnnotations::default(),
            working_dir: &at,
            call_id: "1",
            session: &session,
            task_id: "t",
            depth: 0,
        });
        exam.answer()
    }

    fn compare(&self, rule: &str, command: &str) {
        let before = self.judge(&self.plain, command);
        let rule = Value::from(rule);
        let yaml = format!(
            "profiles: {{more: {{extends: full_developer, allow: [{{scope: terminal:execute, commands: [{rule}]}}, \
             {{scope: 'file:*', paths: ['/**']}}], restrictions: {{terminal:execute: {{allowed_commands: ['*', {rule}]}}}}}}}}"
        );
        if before == PolicyAnswer::Deny
            && let Some(more) = Self::permissions(self.dir.path(), &yaml)
        {
            assert_eq!(self.judge(&more, command), PolicyAnswer::Deny, "a rule lifted a denial");
        }
        let together = format!("rm -rf /\n{command}");
        assert_eq!(self.judge(&self.plain, &together), PolicyAnswer::Deny, "company helped");
    }
}

/// Coerces any arguments to any schema: a schema on the first line, arguments
/// on the rest. Valid arguments must not change, except for keys in another
/// spelling, and every change is reported.
pub fn coercion(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((schema, arguments)) = text.split_once('\n') else { return };
    let (Ok(schema), Ok(arguments)) =
        (serde_json::from_str::<Value>(schema), serde_json::from_str::<Value>(arguments))
    else {
        return;
    };
    let schema = Schema::new(schema);
    let valid = schema.is_valid(&arguments);
    let coerced = coerce_arguments(&schema, arguments.clone(), &[]);
    // An open schema also accepts another spelling of its own keys, and a wrapper.
    let is_renamed = coerced.changes.iter().any(|it| matches!(it.rule, "key" | "unwrap"));
    if valid && !is_renamed {
        assert!(equal_up_to_number_form(&coerced.value, &arguments), "a valid value was changed");
    }
    if coerced.changes.is_empty() {
        assert_eq!(coerced.value, arguments, "a change that is not listed");
    }
    let checked = schema.check(&coerced.value);
    assert_eq!(coerced.is_valid, checked.is_ok(), "two opinions on what is valid");
    assert!(!checked.is_err_and(|violations| violations.is_empty()), "refused without a reason");
    let _ = schema.corrected_example(&coerced.value);
    let tidied = tidy_schema(schema.raw().clone());
    assert_eq!(tidy_schema(tidied.clone()), tidied, "a tidy schema was changed");
    for dialect in hermes_schema::SchemaDialect::ALL {
        let translated = translate(schema.raw(), dialect);
        let kind = translated.schema.get("type").and_then(Value::as_str);
        assert_eq!(kind, Some("object"), "{dialect}: no object at the top");
    }
}

/// Equal except for the notation of integers: `3.0` and `3`.
fn equal_up_to_number_form(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_up_to_number_form(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| equal_up_to_number_form(a, b)))
        }
        (a, b) => a == b,
    }
}
