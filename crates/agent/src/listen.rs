//! Listening to one answer, as it comes.

use futures_util::StreamExt as _;
use hermes_llm::{ReplyEvent, ModelError, ModelErrorKind, FinishReason, ReplyBuilder, ModelReply, ModelRequest, TokenUsage};

use crate::agent::Agent;
use crate::spoken::Aloud;
use crate::turn::Stop;
use crate::watcher::Notice;

/// An answer that was listened to.
pub(crate) struct Heard {
    pub(crate) reply: ModelReply,
    /// Why it broke off, if it did in the middle.
    pub(crate) broken: Option<ModelError>,
    /// What was taken for beginnings that do not count.
    pub(crate) void: TokenUsage,
}

impl Agent {
    /// Listens to one answer.
    pub(crate) async fn listen(&self, request: &ModelRequest) -> Result<Heard, Stop> {
        let stopped = self.interrupt.turn();
        let late = self.time_is_up();
        tokio::pin!(late);
        let asked = tokio::select! {
            biased;
            () = stopped.cancelled() => return Err(Stop::Interrupted(None)),
            fault = &mut late => return Err(Stop::Fault(fault)),
            asked = self.makeup.model.ask(request) => asked.map_err(Stop::Fault)?,
        };
        let mut stream = asked;
        let mut gathering = ReplyBuilder::default();
        let mut void = TokenUsage::default();
        let mut aloud = request.text_tool_calls.then(Aloud::default);
        loop {
            let event = tokio::select! {
                biased;
                () = stopped.cancelled() => {
                    return Err(Stop::Interrupted(so_far(gathering, request.text_tool_calls)));
                }
                fault = &mut late => return Err(Stop::Fault(fault)),
                event = stream.next() => event,
            };
            match event {
                None => {
                    let rest = aloud.map(Aloud::end).unwrap_or_default();
                    if !rest.is_empty() {
                        self.see(&Notice::Text(&rest));
                    }
                    return Ok(Heard { reply: gathering.finish(), broken: None, void });
                }
                Some(Ok(event)) => {
                    match &event {
                        ReplyEvent::Text(text) => match &mut aloud {
                            None => self.see(&Notice::Text(text)),
                            Some(aloud) => {
                                let said = aloud.hear(text);
                                if !said.is_empty() {
                                    self.see(&Notice::Text(&said));
                                }
                            }
                        },
                        ReplyEvent::Thought(text) => self.see(&Notice::Thought(text)),
                        ReplyEvent::Warning(text) => self.see(&Notice::Warning(text)),
                        ReplyEvent::Restart => {
                            void += std::mem::take(&mut gathering).finish().usage;
                            aloud = request.text_tool_calls.then(Aloud::default);
                            self.see(&Notice::Again { why: "the answer broke off" });
                        }
                        _ => {}
                    }
                    gathering.add(&event);
                }
                Some(Err(fault)) => {
                    let reply = gathering.finish();
                    // What was said stays said; half a call is asked for again.
                    if fault.kind.is_transient() && !(reply.text.is_empty() && reply.calls.is_empty())
                    {
                        return Ok(Heard { reply, broken: Some(fault), void });
                    }
                    return Err(Stop::Fault(fault));
                }
            }
        }
    }

    /// Waits until the time is up that there is for all of it.
    async fn time_is_up(&self) -> ModelError {
        match self.makeup.caller.deadline {
            None => std::future::pending().await,
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        }
        ModelError::new(ModelErrorKind::Timeout, "The time for this task is up")
    }
}

/// What was said of an answer that is not heard to its end; half a call is not
/// kept.
fn so_far(gathering: ReplyBuilder, speaks_calls: bool) -> Option<Box<ModelReply>> {
    let mut reply = gathering.finish();
    if speaks_calls {
        let end = crate::spoken::call_in(&reply.text).unwrap_or(reply.text.len());
        reply.text.truncate(end);
    }
    reply.calls.clear();
    reply.finish = FinishReason::Broken;
    (!reply.text.trim().is_empty()).then(|| Box::new(reply))
}
