//! `repl`: interpreters that keep their state between calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{
    Attachment, Effect, JsonSchema, Resource, ResultLimit, Scope, ShellScript, Tool, ToolContext,
    ToolError, ToolExample, ToolSpec, WorkingDir,
};
use hermes_exec::JobRegistry;
use hermes_repl::{InterpreterPool, InterruptOutcome, ReplLanguage, ReplLimits, RunRequest};
use hermes_secrets::own_env;
use serde::Deserialize;

mod databases;
mod report;
mod shell_history;

use databases::SessionDatabases;
use report::Output;

/// Upper bound of the configurable timeout; the tool enforces its own limits.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60 + 30);
/// Maximum length of a session name.
const MAX_NAME_CHARS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Repl {
    interpreters: InterpreterPool,
    databases: SessionDatabases,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ReplLanguageArg {
    #[default]
    Python,
    Javascript,
    Typescript,
    Bash,
    Sql,
}

impl ReplLanguageArg {
    fn language(self) -> ReplLanguage {
        match self {
            Self::Python => ReplLanguage::Python,
            // Both run in Node and share their state.
            Self::Javascript | Self::Typescript => ReplLanguage::Javascript,
            Self::Bash => ReplLanguage::Bash,
            Self::Sql => ReplLanguage::Sql,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ReplAction {
    #[default]
    Run,
    /// Stop the running code; keep the state.
    Interrupt,
    /// Clear the state.
    Reset,
    /// List all.
    List,
    /// End it.
    Close,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// For run: the code. Returns the value of its last expression.
    #[serde(default)]
    code: String,
    /// Code language; typescript shares the state of javascript.
    #[serde(default)]
    language: ReplLanguageArg,
    /// Interpreter of that language; default "main". A new name starts a new
    /// one.
    session: Option<String>,
    /// What to do.
    #[serde(default)]
    action: ReplAction,
    /// For run: timeout in seconds; default 120.
    #[schemars(range(min = 1, max = 3600))]
    timeout: Option<u64>,
    /// For sql, at the start of a session: the database file; default: in memory.
    database: Option<String>,
}

impl Args {
    fn name(&self) -> &str {
        self.session.as_deref().unwrap_or("main")
    }

    /// Returns the resource name of the interpreter.
    fn resource_name(&self) -> String {
        format!("repl/{}/{}", self.language.language().name(), self.name())
    }

    fn database(&self, at: &WorkingDir) -> Option<PathBuf> {
        let file = self.database.as_deref().filter(|_| self.language == ReplLanguageArg::Sql)?;
        (!file.is_empty() && file != ":memory:").then(|| at.resolve(file))
    }
}

impl Tool for Repl {
    type Args = Args;
    type Output = Output;

    fn was_stopped(output: &Output) -> bool {
        output.was_stopped()
    }

    fn spec() -> ToolSpec {
        let spec = ToolSpec::new("repl", "code")
            .runs_code("code", "language")
            .emoji("🔁")
            .description(
                "Run code in an interpreter that keeps its state: variables, imports and \
                 functions persist between calls. Python, JavaScript or TypeScript (Node), \
                 bash, and SQL (SQLite). The last expression's value is returned as at a \
                 prompt; figures are saved to files, data frames shown as tables. Best for \
                 exploring data step by step; execute_code can call tools, terminal runs \
                 programs.",
            )
            .parameter_alias("lang", "language")
            .parameter_alias("name", "session")
            .parameter_alias("session_id", "session")
            .parameter_alias("db", "database")
            .parameter_alias("input", "code")
            .destructive()
            .timeout(MAX_TIMEOUT)
            .result_limit(ResultLimit::Chars(100_000))
            .keyword("python")
            .keyword("node")
            .keyword("sqlite")
            .keyword("interpreter")
            .keyword("interactive")
            .keyword("notebook")
            .keyword("plot");
        examples(spec)
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let named = |name: String| Effect::name(Scope::PROCESS_MANAGE, name);
        match args.action {
            ReplAction::List => vec![Effect::name(Scope::SYSTEM_READ, "repl")],
            // An interrupt must not wait for the code that it stops.
            ReplAction::Interrupt => vec![named(args.resource_name() + "/interrupt")],
            ReplAction::Reset | ReplAction::Close => vec![named(args.resource_name())],
            ReplAction::Run => {
                let mut effects = vec![
                    Effect::path(Scope::CODE_EXECUTE, at.cwd()),
                    Effect::path(Scope::FILE_READ, at.cwd()),
                    named(args.resource_name()),
                ];
                if args.language == ReplLanguageArg::Bash {
                    effects.push(shell_effect(&args.code));
                }
                if let Some(file) = self.database(args, at) {
                    effects.push(Effect::path(Scope::FILE_READ, &file));
                    effects.push(Effect::path(Scope::FILE_WRITE, &file));
                    effects.push(Effect::path(databases::sql_scope(&args.code, at), file));
                }
                effects
            }
        }
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        for effect in self.effects(&args, &cx.working_dir) {
            cx.check_grant(&effect.scope, &effect.resource)?;
        }
        check_args(&args)?;
        match args.action {
            ReplAction::Run => self.run_code(args, cx).await,
            ReplAction::List => Ok(Output::list(self.interpreters.list(cx.session.id()))),
            ReplAction::Interrupt => self.interrupt(&args, cx).await,
            ReplAction::Reset | ReplAction::Close => self.close(&args, cx).await,
        }
    }

    fn attachments(output: &Output) -> Vec<Attachment> {
        output.pictures()
    }

    async fn teardown(&self) {
        self.interpreters.close_all().await;
    }
}

impl Repl {
    /// Returns the database file of an SQL session, which is named when it
    /// starts.
    fn database(&self, args: &Args, at: &WorkingDir) -> Option<PathBuf> {
        let is_sql = args.language == ReplLanguageArg::Sql;
        args.database(at).or_else(|| self.databases.file_for(args.name()).filter(|_| is_sql))
    }

    async fn run_code(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let language = args.language.language();
        let name = args.name().to_owned();
        let database = args.database(&cx.working_dir);
        if let Some(file) = &database {
            self.databases.record(&name, file);
        }
        let (resource, code) = (args.resource_name(), args.code.clone());
        let is_bash = language == ReplLanguage::Bash;
        let ask = RunRequest {
            needs_state: is_bash && shell_history::has_history(cx, &resource)?,
            language,
            name: name.clone(),
            typescript: args.language == ReplLanguageArg::Typescript,
            timeout: args.timeout.map(Duration::from_secs),
            database,
            code: args.code,
            jobs: JobRegistry::from_context(cx),
            limits: repl_limits(cx),
            own_env,
        };
        let answer = self.interpreters.run(ask, cx).await;
        if is_bash {
            let living = self.interpreters.list(cx.session.id());
            let lives = living.iter().any(|one| one.language == language && one.session == name);
            match lives {
                true if answer.is_ok() => shell_history::remember(cx, &resource, &code)?,
                true => {}
                false => shell_history::forget(cx, &resource)?,
            }
        }
        let answer = answer?;
        cx.check_cancelled()?;
        Ok(Output::from_answer(answer, language.name(), name))
    }

    async fn interrupt(&self, args: &Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let (language, name) = (args.language.language(), args.name());
        let grace = repl_limits(cx).grace;
        let stopped = self.interpreters.interrupt(cx.session.id(), language, name, grace).await?;
        let (status, note) = match stopped {
            InterruptOutcome::Stopped => {
                ("interrupted", "The code was stopped; the state is kept.")
            }
            InterruptOutcome::Idle => ("ok", "Nothing was running."),
            InterruptOutcome::Ignored => {
                ("error", "The code does not stop. action=reset kills it and discards its state.")
            }
        };
        Ok(Output::with_note(status, language.name(), name.to_owned(), note))
    }

    async fn close(&self, args: &Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let (language, name) = (args.language.language(), args.name());
        let was_there = self.interpreters.close(cx.session.id(), language, name).await?;
        shell_history::forget(cx, &args.resource_name())?;
        if args.language == ReplLanguageArg::Sql {
            self.databases.forget(name);
        }
        let note = match (was_there, args.action) {
            (false, _) => "It was not running.",
            (true, ReplAction::Reset) => {
                "The state is cleared; the next call starts a new \
                interpreter."
            }
            (true, _) => "The interpreter was closed.",
        };
        Ok(Output::with_note("ok", language.name(), name.to_owned(), note))
    }
}

/// Judges bash code like a command in a fresh shell, with the functions defined
/// in it earlier ([`shell_history`]).
fn shell_effect(code: &str) -> Effect {
    let script = ShellScript { text: code.to_owned(), fresh_shell: true, ..ShellScript::default() };
    Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Script(Box::new(script)) }
}

/// Rejects invalid combinations of arguments.
fn check_args(args: &Args) -> Result<(), ToolError> {
    let name = args.name();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(plain) {
        return Err(ToolError::invalid(format!("'{name}' is not a valid session name"))
            .with_hint("Use up to 64 letters, digits, '-', '_' and '.'."));
    }
    if args.action == ReplAction::Run && args.code.trim().is_empty() {
        return Err(ToolError::invalid("No code to run")
            .with_hint("Give it in 'code', or choose another 'action'."));
    }
    if args.code.contains('\0') && args.language == ReplLanguageArg::Bash {
        return Err(ToolError::invalid("A command cannot contain a NUL character"));
    }
    if args.database.is_some() && args.language != ReplLanguageArg::Sql {
        return Err(ToolError::invalid("'database' requires language=sql"));
    }
    Ok(())
}

fn repl_limits(cx: &ToolContext) -> Arc<ReplLimits> {
    cx.ports.get::<ReplLimits>().unwrap_or_default()
}

fn examples(spec: ToolSpec) -> ToolSpec {
    let of = |title: &'static str, arguments: &'static str, gives: &'static str| {
        ToolExample::new(title, arguments).expects(gives)
    };
    spec.example(of(
        "The value of the last expression",
        r#"{"code":"x = 20\nx * 2 + 2"}"#,
        r#"{"status":"ok","value":"42","type":"int"}"#,
    ))
    .example(of(
        "Rows of a table",
        r#"{"language":"sql","code":"SELECT 1 AS one"}"#,
        r#"{"status":"ok","rows":1}"#,
    ))
    .example(of(
        "List interpreters",
        r#"{"action":"list"}"#,
        r#"{"status":"ok","sessions":[]}"#,
    ))
}
