//! Inspects a stopped program.

use std::path::PathBuf;
use std::time::Duration;

use hermes_core::ToolError;
use serde_json::{Value, json};

use super::{DebugSession, DebuggeeStatus, REQUEST_TIMEOUT};
use crate::client::DapError;
use crate::stack::{self, ExceptionDetails, StackFrame};
use crate::values::{DebugVariable, ValueLimits, VariableReader};

/// Timeout of an evaluation.
const EVALUATE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of frames requested.
const MAX_FRAMES: u64 = 200;

impl DebugSession {
    /// Returns the frames, innermost first. For a running program, as far as
    /// the debugger can report them.
    ///
    /// # Errors
    /// If the stack cannot be read.
    pub async fn stack(&self) -> Result<Vec<StackFrame>, ToolError> {
        let known = self.frames().clone();
        if !known.is_empty() {
            return Ok(known);
        }
        let failed = |fault: DapError| fault.into_tool_error("The stack cannot be read");
        let stop = match self.status() {
            DebuggeeStatus::Stopped(stop) => Some(stop.thread),
            _ => None,
        };
        let thread = match stop {
            Some(thread) => thread,
            None => self.first_thread().await.map_err(failed)?,
        };
        let asked = json!({ "threadId": thread, "startFrame": 0, "levels": MAX_FRAMES });
        let answer =
            self.client.request("stackTrace", asked, REQUEST_TIMEOUT).await.map_err(failed)?;
        let frames = stack::parse_stack_trace(&answer, &self.project_roots());
        if stop.is_some() {
            self.frames().clone_from(&frames);
        }
        Ok(frames)
    }

    /// Returns the directories of the project.
    fn project_roots(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.launch.cwd.clone(), self.debugger.real_dir.clone()];
        let beside = self.launch.target.file().and_then(|file| file.parent());
        roots.extend(beside.map(PathBuf::from).filter(|_| !self.debugger.adapter.is_native()));
        roots
    }

    async fn frame(&self, number: usize) -> Result<StackFrame, ToolError> {
        let frames = self.stack().await?;
        frames.get(number).cloned().ok_or_else(|| {
            ToolError::invalid(format!("No frame {number}; the stack has {}", frames.len()))
                .with_hint("Frames are numbered from 0, the innermost; see action 'stack'.")
        })
    }

    /// Returns the variables of a frame, and how many were omitted.
    ///
    /// # Errors
    /// If the program has not stopped.
    pub async fn locals(
        &self,
        frame: usize,
        bounds: ValueLimits,
    ) -> Result<(Vec<DebugVariable>, u64), ToolError> {
        self.require_stopped()?;
        let frame = self.frame(frame).await?;
        self.scopes(&frame, bounds)
            .await
            .map_err(|fault| fault.into_tool_error("The variables cannot be read"))
    }

    async fn scopes(
        &self,
        frame: &StackFrame,
        bounds: ValueLimits,
    ) -> Result<(Vec<DebugVariable>, u64), DapError> {
        let answer =
            self.client.request("scopes", json!({ "frameId": frame.id }), REQUEST_TIMEOUT).await?;
        let mut reader = VariableReader::new(&self.client, bounds);
        let (mut all, mut more): (Vec<DebugVariable>, u64) = (Vec::new(), 0);
        let scopes = answer.get("scopes").and_then(Value::as_array);
        for scope in scopes.into_iter().flatten() {
            let name = scope.get("name").and_then(Value::as_str).unwrap_or_default();
            let wide = ["globals", "global", "registers", "static"];
            if wide.contains(&name.to_lowercase().as_str()) {
                continue;
            }
            let reference = scope.get("variablesReference").and_then(Value::as_i64).unwrap_or(0);
            if reference <= 0 {
                continue;
            }
            let (variables, left) = reader.children(reference, bounds.depth, None).await?;
            // An inner scope shadows the outer ones.
            let fresh =
                variables.into_iter().filter(|one| !all.iter().any(|it| it.name == one.name));
            let fresh: Vec<_> = fresh.collect();
            all.extend(fresh);
            more += left;
        }
        Ok((all, more))
    }

    /// Evaluates an expression in a frame. A statement may have side effects.
    ///
    /// # Errors
    /// If the program has not stopped, or the evaluation fails.
    pub async fn evaluate(
        &self,
        frame: usize,
        expression: &str,
        is_statement: bool,
        bounds: ValueLimits,
    ) -> Result<DebugVariable, ToolError> {
        self.require_stopped()?;
        let frame = self.frame(frame).await?;
        let asked = json!({
            "expression": expression,
            "frameId": frame.id,
            "context": self.debugger.adapter.evaluate_context(is_statement),
        });
        let failed = |fault| match fault {
            DapError::Refused(reason) => ToolError::invalid(format!("{expression}: {reason}"))
                .with_hint("Use the language of the program and names visible in that frame."),
            fault => DapError::into_tool_error(fault, expression),
        };
        let answer =
            self.client.request("evaluate", asked, EVALUATE_TIMEOUT).await.map_err(failed)?;
        VariableReader::new(&self.client, bounds)
            .evaluation_result(expression, &answer)
            .await
            .map_err(failed)
    }

    /// Returns the exception the program has stopped at, if any.
    pub async fn exception(&self) -> Option<ExceptionDetails> {
        let stop = self.require_stopped().ok()?;
        if stop.reason != "exception" {
            return None;
        }
        let asked = json!({ "threadId": stop.thread });
        match self.client.request("exceptionInfo", asked, REQUEST_TIMEOUT).await {
            Ok(answer) => Some(stack::parse_exception_info(&answer)),
            Err(_) => {
                Some(ExceptionDetails { kind: stop.reason, message: stop.text.unwrap_or_default() })
            }
        }
    }
}
