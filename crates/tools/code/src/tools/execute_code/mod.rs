//! `execute_code`: runs a script that can call tools.

use std::time::Duration;

use hermes_core::{
    Effect, JsonSchema, Resource, ResultLimit, Scope, Tool, ToolContext, ToolError, ToolExample,
    ToolSpec, WorkingDir,
};
use hermes_exec::JobRegistry;
use hermes_scripts::{
    ScriptLanguage, ScriptMode, ScriptOutcome, ScriptRequest, ScriptRunner, ScriptStatus,
};
use hermes_secrets::own_env;
use serde::Deserialize;

/// Upper bound of the configurable timeout; the tool enforces its own limits.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60 + 30);

#[derive(Debug, Default)]
pub(crate) struct ExecuteCode {
    scripts: ScriptRunner,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The script. Its output is the answer.
    code: String,
    /// Script language.
    #[serde(default)]
    language: ScriptLanguageArg,
    /// Timeout in seconds; default and maximum 300.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// Project: session directory, virtualenv and variables. Strict: private
    /// directory, clean interpreter.
    mode: Option<ScriptModeArg>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ScriptLanguageArg {
    #[default]
    Python,
    JavaScript,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ScriptModeArg {
    Project,
    Strict,
}

impl Tool for ExecuteCode {
    type Args = Args;
    type Output = ScriptOutcome;

    fn was_stopped(outcome: &ScriptOutcome) -> bool {
        outcome.status == ScriptStatus::Interrupted
    }

    fn spec() -> ToolSpec {
        let spec = ToolSpec::new("execute_code", "code_execution")
            .runs_code("code", "language")
            .emoji("🐍")
            .description(
                "Run a Python or JavaScript program that can call this session's file, search, \
                 terminal and web tools: `from hermes_tools import read_file`, then \
                 `read_file(path=...)` returns the result as a dict, with `error` on failure \
                 (JavaScript: `import { read_file } from 'hermes_tools'`, await, one \
                 object). Use it to chain three or more calls, filter large results, or loop. \
                 Only its output is returned. `hermes_tools.tools()` lists the tools; also \
                 json_parse, shell_quote, retry, aio.",
            )
            .alias("code_execute")
            .alias("code_interpreter")
            .parameter_alias("script", "code")
            .parameter_alias("lang", "language")
            .destructive()
            .timeout(MAX_TIMEOUT)
            .result_limit(ResultLimit::Chars(100_000))
            .keyword("python")
            .keyword("javascript")
            .keyword("script")
            .keyword("run")
            .keyword("batch");
        examples(spec)
    }

    fn effects(&self, _args: &Args, at: &WorkingDir) -> Vec<Effect> {
        vec![Effect::path(Scope::CODE_EXECUTE, at.cwd()), Effect::path(Scope::FILE_READ, at.cwd())]
    }

    fn bulk_arguments() -> &'static [&'static str] {
        &["code"]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<ScriptOutcome, ToolError> {
        let here = Resource::Path(cx.working_dir.cwd().to_owned());
        cx.check_grant(&Scope::CODE_EXECUTE, &here)?;
        cx.check_grant(&Scope::FILE_READ, &here)?;
        if args.code.trim().is_empty() {
            return Err(
                ToolError::invalid("No code to run").with_hint("Give the whole script in 'code'.")
            );
        }
        let script = ScriptRequest {
            code: args.code,
            language: match args.language {
                ScriptLanguageArg::Python => ScriptLanguage::Python,
                ScriptLanguageArg::JavaScript => ScriptLanguage::JavaScript,
            },
            mode: args.mode.map(|mode| match mode {
                ScriptModeArg::Project => ScriptMode::Project,
                ScriptModeArg::Strict => ScriptMode::Strict,
            }),
            timeout: args.timeout.map(Duration::from_secs),
        };
        self.scripts.run(&script, &JobRegistry::from_context(cx), own_env, cx).await
    }

    async fn teardown(&self) {
        self.scripts.close();
    }
}

fn examples(spec: ToolSpec) -> ToolSpec {
    spec.example(
        ToolExample::new("A calculation", r#"{"code":"print(sum(range(10)))"}"#)
            .expects(r#"{"status":"success","output":"45\n","exit_code":0,"tool_calls_made":0}"#),
    )
    .example(
        ToolExample::new(
            "Read a project file",
            r#"{"code":"print(len(open('a.txt').read().split()))"}"#,
        )
        .file("a.txt", "one two three\n")
        .expects(r#"{"status":"success","output":"3\n"}"#),
    )
}
