//! `patch`: edits text files, only where the target is unambiguous.

use std::mem;
use std::path::{Path, PathBuf};

use hermes_core::{
    Effect, JsonSchema, Scope, Tool, ToolContext, ToolError, ToolExample, ToolSpec, WorkingDir,
    answer_schema,
};
use hermes_text::matching::MatchStrictness;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::aliases;
use crate::blocking::in_place;
use crate::change::{cache_versions, lock_files};
use crate::charset;
use crate::seen_files::FileHash;

mod around_secrets;
mod failures;
mod format_hints;
mod links;
mod nesting;
mod outcome;
mod refusal;
mod report;
mod request;
mod workspace;

use report::Output;
use request::{FileTouch, PatchPlan};
use workspace::PatchWorkspace;

#[derive(Debug, Default)]
pub(crate) struct Patch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = crate::schema_trim::omit_empty_defaults)]
pub(crate) struct Args {
    /// Default: inferred.
    mode: Option<PatchMode>,
    /// File to change (replace mode).
    path: Option<String>,
    /// Text copied from the file, with enough lines around it to be unique.
    old_string: Option<String>,
    /// Replacement text; empty to delete it.
    new_string: Option<String>,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
    /// A patch (patch mode): V4A (`*** Begin Patch`), unified diff, or SEARCH/REPLACE blocks.
    patch: Option<String>,
    /// Show the diff, write nothing.
    #[serde(default)]
    dry_run: bool,
    /// Change the file only if it still has this `hash`.
    expected_hash: Option<String>,
    /// File encoding if not detected, such as windows-1252.
    encoding: Option<String>,
    /// Exact matches only.
    #[serde(default)]
    strict: bool,
}

/// Form of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PatchMode {
    Replace,
    Patch,
}

impl Args {
    fn rigour(&self) -> MatchStrictness {
        if self.strict { MatchStrictness::Strict } else { MatchStrictness::Relaxed }
    }
}

impl Tool for Patch {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        aliases::add_file_aliases(ToolSpec::new("patch", "file"))
            .emoji("🔧")
            .description(
                "Edit text files: replace old_string with new_string, or apply a patch to \
                 several files, all or nothing. Exactly one place must match; if none does, \
                 the nearest text is shown.",
            )
            .alias("edit_file")
            .alias("apply_patch")
            .alias("edit")
            .alias("replace")
            .alias("replace_in_file")
            .alias("replace_string_in_file")
            .alias("str_replace")
            .alias("search_replace")
            .parameter_alias("old_str", "old_string")
            .parameter_alias("old_text", "old_string")
            .parameter_alias("oldText", "old_string")
            .parameter_alias("search", "old_string")
            .parameter_alias("new_str", "new_string")
            .parameter_alias("new_text", "new_string")
            .parameter_alias("newText", "new_string")
            .parameter_alias("replace", "new_string")
            .parameter_alias("diff", "patch")
            .parameter_alias("input", "patch")
            .parameter_alias("hash", "expected_hash")
            .parameter_alias("charset", "encoding")
            .destructive()
            .reports_changes()
            .keyword("edit")
            .keyword("replace")
            .keyword("modify")
            .keyword("diff")
            .keyword("rename")
            .keyword("fix")
            .example(
                ToolExample::new(
                    "Replace text in one file",
                    r#"{"path":"app.toml","old_string":"timeout = 30","new_string":"timeout = 60"}"#,
                )
                .file("app.toml", "retries = 3\ntimeout = 30\n")
                .expects(
                    r#"{"success":true,"strategy":"exact","verified":true,"diff":"--- a/app.toml\n+++ b/app.toml\n@@ -1,2 +1,2 @@\n retries = 3\n-timeout = 30\n+timeout = 60\n"}"#,
                ),
            )
            .example(
                ToolExample::new(
                    "Patch several files",
                    r#"{"patch":"*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+three\n*** Add File: b.txt\n+new\n*** End Patch"}"#,
                )
                .file("a.txt", "one\ntwo\n")
                .expects(r#"{"success":true,"format":"v4a","verified":true}"#),
            )
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<Output>())
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        // An invalid call touches nothing and fails when it runs.
        let Ok(plan) = PatchPlan::from_args(args, at) else { return Vec::new() };
        let mut effects: Vec<Effect> = Vec::new();
        for (path, touch) in plan.touched() {
            let scope = match touch {
                FileTouch::Read => Scope::FILE_READ,
                FileTouch::Write => Scope::FILE_WRITE,
                FileTouch::Delete => Scope::FILE_DELETE,
            };
            if !(args.dry_run && touch != FileTouch::Read) {
                effects.push(Effect::path(scope, path));
            }
        }
        effects
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        in_place(cx, move |cx| patch(&args, cx)).await
    }
}

/// What changed when one step of a patch fails.
const ATOMIC_NOTE: &str = "nothing: a patch is applied completely or not at all";

fn patch(args: &Args, cx: &ToolContext) -> Result<Output, ToolError> {
    let plan = PatchPlan::from_args(args, &cx.working_dir)?;
    let expected: Option<FileHash> = args.expected_hash.as_deref().map(str::parse).transpose()?;
    let paths: Vec<PathBuf> = plan.paths();
    let sources = plan.sources();
    if expected.is_some() && sources.len() != 1 {
        return Err(ToolError::invalid(
            "expected_hash requires a call that changes exactly one file",
        )
        .with_hint("Omit it, or change the files one by one."));
    }
    let held = lock_files(cx, &paths.iter().map(PathBuf::as_path).collect::<Vec<&Path>>())?;
    nesting::refuse_nested(&plan, cx).map_err(|error| error.with("changed", ATOMIC_NOTE))?;
    let shown = args.encoding.as_deref().map(charset::parse_encoding).transpose()?;
    let mut desk = PatchWorkspace::new(cx, &held, shown.map(|(encoding, _)| encoding), plan.format);
    if let (Some(expected), Some(path)) = (&expected, sources.first()) {
        desk.expect(path, expected)?;
    }
    let count = plan.steps.len();
    for (index, step) in plan.steps.iter().enumerate() {
        cx.check_cancelled()?;
        if index % 64 == 63 {
            cx.report_progress(
                Some(index as f64 / count as f64),
                format!("{index} of {count} operations"),
            );
        }
        desk.apply_step(step, args.rigour()).map_err(|error| {
            let error = failures::count(cx, step.path(), error);
            if plan.has_multiple_changes() { error.with("changed", ATOMIC_NOTE) } else { error }
        })?;
    }
    for (path, runs) in &plan.programs {
        desk.set_executable(path, *runs)?;
    }
    let mut outcome = desk.finish()?;
    outcome.refuse_overwritten_secrets()?;
    let describe =
        |hashes: &[Option<FileHash>]| Output::describe(&outcome, &plan, hashes, args.dry_run, cx);
    if args.dry_run {
        let hashes =
            outcome.changes.iter().map(|change| change.content().map(FileHash::from_bytes));
        return Ok(describe(&hashes.collect::<Vec<_>>()));
    }
    let held = held.with_programs(outcome.programs.clone());
    let (done, (), output) =
        held.commit(&outcome.changes, || Ok(()), |hashes| Ok(describe(hashes)))?;
    if let Some((encoding, _)) = shown {
        outcome.remember_encoding(cx, encoding);
    }
    cache_versions(mem::take(&mut outcome.changes), &done);
    failures::forget(cx, &paths);
    Ok(output.with_written(&done))
}
