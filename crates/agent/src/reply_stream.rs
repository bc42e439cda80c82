//! Streaming of one reply.

use futures_util::StreamExt as _;
use hermes_llm::{
    FinishReason, ModelError, ModelErrorKind, ModelReply, ModelRequest, ReplyBuilder, ReplyEvent,
    TokenUsage,
};

use crate::agent::Agent;
use crate::observer::AgentEvent;
use crate::text_calls::CallFilter;
use crate::turn::TurnStop;

/// A streamed reply.
pub(crate) struct StreamedReply {
    pub(crate) reply: ModelReply,
    /// Why the stream broke off, if it did.
    pub(crate) break_cause: Option<ModelError>,
    /// Usage of partial replies that were discarded.
    pub(crate) discarded_usage: TokenUsage,
}

impl Agent {
    /// Streams one reply and emits its events.
    pub(crate) async fn stream_reply(
        &self,
        request: &ModelRequest,
    ) -> Result<StreamedReply, TurnStop> {
        let stopped = self.interrupt.turn_token();
        let late = self.deadline_fault();
        tokio::pin!(late);
        let asked = tokio::select! {
            biased;
            () = stopped.cancelled() => return Err(TurnStop::Interrupted(None)),
            fault = &mut late => return Err(TurnStop::ModelError(fault)),
            asked = self.parts.model.ask(request) => asked.map_err(TurnStop::ModelError)?,
        };
        let mut stream = asked;
        let mut gathering = ReplyBuilder::default();
        let mut void = TokenUsage::default();
        let mut aloud = request.text_tool_calls.then(CallFilter::default);
        loop {
            let event = tokio::select! {
                biased;
                () = stopped.cancelled() => {
                    return Err(TurnStop::Interrupted(partial_reply(gathering, request.text_tool_calls)));
                }
                fault = &mut late => return Err(TurnStop::ModelError(fault)),
                event = stream.next() => event,
            };
            match event {
                None => {
                    let rest = aloud.map(CallFilter::finish).unwrap_or_default();
                    if !rest.is_empty() {
                        self.emit(&AgentEvent::Text(&rest));
                    }
                    return Ok(StreamedReply {
                        reply: gathering.finish(),
                        break_cause: None,
                        discarded_usage: void,
                    });
                }
                Some(Ok(event)) => {
                    match &event {
                        ReplyEvent::Text(text) => match &mut aloud {
                            None => self.emit(&AgentEvent::Text(text)),
                            Some(aloud) => {
                                let said = aloud.push(text);
                                if !said.is_empty() {
                                    self.emit(&AgentEvent::Text(&said));
                                }
                            }
                        },
                        ReplyEvent::Thought(text) => self.emit(&AgentEvent::Thought(text)),
                        ReplyEvent::Warning(text) => self.emit(&AgentEvent::Warning(text)),
                        ReplyEvent::Restart => {
                            void += std::mem::take(&mut gathering).finish().usage;
                            aloud = request.text_tool_calls.then(CallFilter::default);
                            self.emit(&AgentEvent::AnswerDiscarded { why: "the reply broke off" });
                        }
                        _ => {}
                    }
                    gathering.add(&event);
                }
                Some(Err(fault)) => {
                    let reply = gathering.finish();
                    // Text already shown stays; an incomplete call is requested
                    // again.
                    if fault.kind.is_transient()
                        && !(reply.text.is_empty() && reply.calls.is_empty())
                    {
                        return Ok(StreamedReply {
                            reply,
                            break_cause: Some(fault),
                            discarded_usage: void,
                        });
                    }
                    return Err(TurnStop::ModelError(fault));
                }
            }
        }
    }

    /// Waits for the caller's deadline, then returns a timeout error.
    async fn deadline_fault(&self) -> ModelError {
        match self.parts.caller.deadline {
            None => std::future::pending().await,
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        }
        ModelError::new(ModelErrorKind::Timeout, "The deadline of this task has passed")
    }
}

/// Returns the text of an interrupted reply, without incomplete calls.
fn partial_reply(gathering: ReplyBuilder, speaks_calls: bool) -> Option<Box<ModelReply>> {
    let mut reply = gathering.finish();
    if speaks_calls {
        let end = crate::text_calls::find_call(&reply.text).unwrap_or(reply.text.len());
        reply.text.truncate(end);
    }
    reply.calls.clear();
    reply.finish = FinishReason::Broken;
    (!reply.text.trim().is_empty()).then(|| Box::new(reply))
}
