//! The output of the tool.

use std::path::PathBuf;

use hermes_core::Attachment;
use hermes_repl::{
    CodeError, ListedInterpreter, RenderedValue, ReplResult, ReplStatus, SavedImage,
};
use serde::Serialize;

/// The result of a call.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Output {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The value of the last expression, as a prompt would show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "String::is_empty")]
    stdout: String,
    #[serde(skip_serializing_if = "is_zero")]
    stdout_bytes_omitted: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    stderr: String,
    #[serde(skip_serializing_if = "is_zero")]
    stderr_bytes_omitted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CodeError>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Vec<ListedInterpreter>>,
}

impl Output {
    pub(crate) fn from_answer(answer: ReplResult, language: &'static str, session: String) -> Self {
        let ReplResult { value, stdout, stderr, images: pictures, notes, .. } = answer;
        let (value, kind, shape) = match value {
            Some(RenderedValue { text, kind, shape }) => (Some(text), Some(kind), shape),
            None => (None, None, None),
        };
        Self {
            status: status_word(answer.status),
            language: Some(language),
            session: Some(session),
            value,
            kind,
            shape,
            rows: answer.rows,
            exit_code: answer.exit_code.or_else(|| failure_code(answer.status)),
            stdout: stdout.text,
            stdout_bytes_omitted: stdout.omitted_bytes,
            stderr: stderr.text,
            stderr_bytes_omitted: stderr.omitted_bytes,
            error: answer.error,
            files: pictures.into_iter().map(|SavedImage { path, .. }| path).collect(),
            note: (!notes.is_empty()).then(|| notes.join(" ")),
            duration_seconds: Some((answer.seconds * 1000.0).round() / 1000.0),
            sandbox: answer.sandbox,
            sessions: None,
        }
    }

    pub(crate) fn list(sessions: Vec<ListedInterpreter>) -> Self {
        Self { status: "ok", sessions: Some(sessions), ..Self::default() }
    }

    pub(crate) fn with_note(
        status: &'static str,
        language: &'static str,
        session: String,
        note: &str,
    ) -> Self {
        Self {
            status,
            language: Some(language),
            session: Some(session),
            note: Some(note.to_owned()),
            ..Self::default()
        }
    }

    /// Whether code ran and was stopped before its end.
    pub(crate) fn was_stopped(&self) -> bool {
        self.status == "interrupted" && self.duration_seconds.is_some()
    }

    /// Returns the images that a model can view.
    pub(crate) fn pictures(&self) -> Vec<Attachment> {
        let shown = self.files.iter().filter_map(|path| {
            let media_type = match path.extension()?.to_str()? {
                "png" => "image/png",
                "jpg" => "image/jpeg",
                _ => return None,
            };
            Some(Attachment { media_type: media_type.to_owned(), path: path.clone() })
        });
        shown.collect()
    }
}

/// The exit code of code that failed in a language without exit codes, so the
/// call counts as a command that failed.
fn failure_code(status: ReplStatus) -> Option<i32> {
    matches!(status, ReplStatus::Error | ReplStatus::Timeout).then_some(1)
}

fn status_word(status: ReplStatus) -> &'static str {
    match status {
        ReplStatus::Ok => "ok",
        ReplStatus::Error => "error",
        ReplStatus::Interrupted => "interrupted",
        ReplStatus::Timeout => "timeout",
        ReplStatus::Ended => "ended",
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
