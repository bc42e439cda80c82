//! Looking at a program that has stopped.

use std::path::PathBuf;
use std::time::Duration;

use hermes_core::ToolError;
use serde_json::{Value, json};

use super::{ANSWER, Met, Session};
use crate::client::Fault;
use crate::stack::{self, Exception, Frame};
use crate::values::{Bounds, Reader, Variable};

/// How long an expression may take.
const EVALUATE: Duration = Duration::from_secs(60);
/// Frames that are asked for.
const FRAMES: u64 = 200;

impl Session {
    /// The frames, the innermost first. Of a program that runs, as far as the
    /// debugger can tell.
    ///
    /// # Errors
    /// If there are none.
    pub async fn stack(&self) -> Result<Vec<Frame>, ToolError> {
        let known = self.frames().clone();
        if !known.is_empty() {
            return Ok(known);
        }
        let failed = |fault: Fault| fault.into_error("The stack cannot be read");
        let stop = match self.now() {
            Met::Stopped(stop) => Some(stop.thread),
            _ => None,
        };
        let thread = match stop {
            Some(thread) => thread,
            None => self.thread().await.map_err(failed)?,
        };
        let asked = json!({ "threadId": thread, "startFrame": 0, "levels": FRAMES });
        let answer = self.client.ask("stackTrace", asked, ANSWER).await.map_err(failed)?;
        let frames = stack::read(&answer, &self.roots());
        if stop.is_some() {
            self.frames().clone_from(&frames);
        }
        Ok(frames)
    }

    /// The folders of the project.
    fn roots(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.launch.folder.clone(), self.found.real_folder.clone()];
        let beside = self.launch.target.file().and_then(|file| file.parent());
        roots.extend(beside.map(PathBuf::from).filter(|_| !self.found.adapter.is_native()));
        roots
    }

    async fn frame(&self, number: usize) -> Result<Frame, ToolError> {
        let frames = self.stack().await?;
        frames.get(number).cloned().ok_or_else(|| {
            ToolError::invalid(format!("There is no frame {number}; there are {}", frames.len()))
                .with_hint("Frames are numbered from 0, the innermost; see action 'stack'.")
        })
    }

    /// The variables of a frame, and how many were left out.
    ///
    /// # Errors
    /// If it has not stopped.
    pub async fn locals(
        &self,
        frame: usize,
        bounds: Bounds,
    ) -> Result<(Vec<Variable>, u64), ToolError> {
        self.stopped()?;
        let frame = self.frame(frame).await?;
        self.scopes(&frame, bounds)
            .await
            .map_err(|fault| fault.into_error("The variables cannot be read"))
    }

    async fn scopes(&self, frame: &Frame, bounds: Bounds) -> Result<(Vec<Variable>, u64), Fault> {
        let answer = self.client.ask("scopes", json!({ "frameId": frame.id }), ANSWER).await?;
        let mut reader = Reader::new(&self.client, bounds);
        let (mut all, mut more): (Vec<Variable>, u64) = (Vec::new(), 0);
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
            let (variables, left) = reader.parts(reference, bounds.depth, None).await?;
            // An inner scope hides the outer ones.
            let fresh =
                variables.into_iter().filter(|one| !all.iter().any(|it| it.name == one.name));
            let fresh: Vec<_> = fresh.collect();
            all.extend(fresh);
            more += left;
        }
        Ok((all, more))
    }

    /// What an expression is in a frame. A statement may change something.
    ///
    /// # Errors
    /// If it has not stopped, or the expression fails.
    pub async fn evaluate(
        &self,
        frame: usize,
        expression: &str,
        is_statement: bool,
        bounds: Bounds,
    ) -> Result<Variable, ToolError> {
        self.stopped()?;
        let frame = self.frame(frame).await?;
        let asked = json!({
            "expression": expression,
            "frameId": frame.id,
            "context": self.found.adapter.context(is_statement),
        });
        let failed = |fault| match fault {
            Fault::Refused(reason) => ToolError::invalid(format!("{expression}: {reason}"))
                .with_hint("It is evaluated in the language of the program, in that frame."),
            fault => Fault::into_error(fault, expression),
        };
        let answer = self.client.ask("evaluate", asked, EVALUATE).await.map_err(failed)?;
        Reader::new(&self.client, bounds).result(expression, &answer).await.map_err(failed)
    }

    /// The exception that it has stopped at, if it is one.
    pub async fn exception(&self) -> Option<Exception> {
        let stop = self.stopped().ok()?;
        if stop.reason != "exception" {
            return None;
        }
        let asked = json!({ "threadId": stop.thread });
        match self.client.ask("exceptionInfo", asked, ANSWER).await {
            Ok(answer) => Some(stack::exception(&answer)),
            Err(_) => Some(Exception { kind: stop.reason, message: stop.text.unwrap_or_default() }),
        }
    }
}
