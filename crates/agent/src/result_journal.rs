//! Journals each result as its call ends, so a kill during several calls loses
//! only the unfinished ones.

use std::collections::HashMap;
use std::sync::Arc;

use hermes_core::{CallStatus, CancellationToken, ErrorKind, ToolResult};
use hermes_engine::{CallEvent, CallObserver};
use hermes_llm::{ChatMessage, ToolCallAnswer};
use parking_lot::{Mutex, MutexGuard};

use crate::journal::{ConversationJournal, JournalEntry, JournalError};
use crate::observer::{AgentEvent, AgentObserver};

/// Journals the results of one reply's calls.
pub(crate) struct ResultJournal {
    observer: Arc<dyn AgentObserver>,
    journal: Arc<dyn ConversationJournal>,
    /// Cancels the calls when the journal cannot be written.
    stop: CancellationToken,
    lines: Mutex<ResultJournalState>,
}

#[derive(Default)]
struct ResultJournalState {
    /// Written messages by call id, with their position.
    written: HashMap<String, (usize, ChatMessage)>,
    error: Option<JournalError>,
}

/// Results journaled while the calls ran.
pub(crate) struct JournaledResults {
    lines: HashMap<String, (usize, ChatMessage)>,
    /// Whether all results so far are in call order.
    is_in_order: bool,
}

impl ResultJournal {
    pub(crate) fn new(
        observer: Arc<dyn AgentObserver>,
        journal: Arc<dyn ConversationJournal>,
        stop: CancellationToken,
    ) -> Self {
        Self { observer, journal, stop, lines: Mutex::default() }
    }

    /// Returns what was written, or the first error.
    pub(crate) fn finish(&self) -> Result<JournaledResults, JournalError> {
        let ResultJournalState { written, error: trouble } = std::mem::take(&mut *self.lock());
        match trouble {
            Some(trouble) => Err(trouble),
            None => Ok(JournaledResults { lines: written, is_in_order: true }),
        }
    }

    fn write(&self, result: &ToolResult) {
        let mut lines = self.lock();
        let id = &result.tool_call_id;
        if lines.error.is_some() || lines.written.contains_key(id) {
            return;
        }
        let message = ChatMessage::Tool(to_answer(result, &[]));
        match self.journal.write(JournalEntry::Message(&message)) {
            Ok(()) => {
                let place = lines.written.len();
                lines.written.insert(id.clone(), (place, message));
            }
            Err(trouble) => {
                lines.error = Some(trouble);
                self.stop.cancel();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, ResultJournalState> {
        self.lines.lock()
    }
}

impl CallObserver for ResultJournal {
    fn on_event(&self, event: &CallEvent<'_>) {
        // A nested call is part of its parent's result.
        if let CallEvent::Ended { result, parent: None } = event {
            self.write(result);
        }
        self.observer.on_event(&AgentEvent::Call(event));
    }
}

impl JournaledResults {
    /// Returns the final message of a result, which is journaled in order when
    /// this returns. Rewrites the entry if text is added or if another call
    /// ended first.
    pub(crate) fn finalize(
        &mut self,
        at: usize,
        result: &ToolResult,
        besides: &[String],
        journal: &dyn ConversationJournal,
    ) -> Result<ChatMessage, JournalError> {
        let early = self.lines.remove(&result.tool_call_id);
        let is_new = early.is_none();
        let is_said = |message: &ChatMessage| {
            let ChatMessage::Tool(answer) = message else { return false };
            besides.is_empty() && answer.content == result.content
        };
        let message = match early {
            Some((place, message)) if is_said(&message) => {
                if self.is_in_order && place == at {
                    return Ok(message);
                }
                message
            }
            _ => ChatMessage::Tool(to_answer(result, besides)),
        };
        self.is_in_order = false;
        journal.write(match is_new {
            true => JournalEntry::Message(&message),
            false => JournalEntry::Revised(&message),
        })?;
        Ok(message)
    }
}

fn to_answer(result: &ToolResult, besides: &[String]) -> ToolCallAnswer {
    let mut content = result.content.clone();
    for more in besides {
        content.push_str("\n\n");
        content.push_str(more);
    }
    ToolCallAnswer {
        call_id: result.tool_call_id.clone(),
        name: result.name.clone(),
        content,
        images: crate::images::result_images(result),
        is_error: !result.is_success(),
        is_cancelled: result.status == CallStatus::Error(ErrorKind::Cancelled),
    }
}
