//! One turn: the model is asked, its calls are made, it is asked again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use hermes_core::{CallStatus, ErrorKind, ToolCall, ToolResult};
use hermes_engine::CallObserver;
use hermes_llm::{
    ChatMessage, ContentPart, FinishReason, ModelError, ModelErrorKind, ModelReply, ModelRequest,
    RequestedCall, TokenUsage, ToolChoice,
};

use crate::agent::{Agent, AgentParts, to_tool_call};
use crate::budget::AgentBudget;
use crate::history_repair::repair_history;
use crate::journal::JournalError;
use crate::observer::{AgentEvent, CallForwarder};
use crate::outcome::{TurnEnd, TurnOutcome};
use crate::reply_stream::StreamedReply;
use crate::result_journal::ResultJournal;

/// How often an answer that was cut off in the middle of a call is asked for
/// again, each time with more room.
const MAX_TRUNCATED_RETRIES: u32 = 4;
/// How often one that broke off there, which its model has tried to mend before.
const MAX_BROKEN_RETRIES: u32 = 1;
/// How often a conversation is shortened that the server finds too long.
const MAX_COMPACTIONS: u32 = 3;
/// The room for an answer where nothing was said, and the most.
const DEFAULT_ANSWER_TOKENS: u64 = 4_096;
const MAX_ANSWER_TOKENS: u64 = 32_768;
/// What a model is told that may not call tools any more.
const BUDGET_SUMMARY_PROMPT: &str = "\
The budget of this task is used up, so no more tools can be called. Say in a few sentences what was \
done, what was found, and what is left to do.";
/// The same for one that goes in circles.
const LOOP_SUMMARY_PROMPT: &str = "\
The same tool keeps failing, so no more tools can be called. Say in a few sentences what was done, what \
fails and why, and what could be tried instead.";
/// How often in a row a model may ask for nothing but what does not exist.
const MAX_UNKNOWN_TOOL_ROUNDS: u32 = 3;
/// How often in a turn an answer that says nothing is asked for again.
const MAX_EMPTY_RETRIES: u32 = 2;
/// The same for one with a call that its server cannot read.
const MAX_MALFORMED_RETRIES: u32 = 3;

/// Why a turn does not go on.
pub(crate) enum TurnStop {
    /// With what the model had said by then.
    Interrupted(Option<Box<ModelReply>>),
    ModelError(ModelError),
    Journal(JournalError),
}

impl From<TurnStop> for TurnEnd {
    fn from(stop: TurnStop) -> Self {
        match stop {
            TurnStop::Interrupted(_) => Self::Interrupted,
            TurnStop::ModelError(fault) => Self::ModelError(fault),
            TurnStop::Journal(error) => Self::Journal(error.0),
        }
    }
}

impl From<JournalError> for TurnStop {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

/// What the model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestGoal {
    /// To go on.
    Work,
    /// To say what came of it, with the tools in sight, asked in these words.
    Summary(&'static str),
    /// The same, without any.
    BareSummary(&'static str),
}

/// What has come of a turn so far.
#[derive(Default)]
struct TurnTally {
    text: String,
    requests: u32,
    calls: u32,
    strikes: u32,
    empty: u32,
    malformed: u32,
    usage: TokenUsage,
    /// What the last answer took.
    last_usage: TokenUsage,
    /// Why the last answer broke off.
    break_cause: Option<ModelError>,
    /// What a model has said that has paused.
    paused: String,
}

impl TurnTally {
    fn broken_off(&mut self) -> TurnEnd {
        let why = self.break_cause.take().map(|fault| fault.message);
        TurnEnd::Broken(why.unwrap_or_else(|| "nobody says why".to_owned()))
    }
}

impl Agent {
    /// Says something to the model, and sees it through to the end.
    pub async fn run_turn(
        &mut self,
        mut said: Vec<ContentPart>,
        budget: &AgentBudget,
    ) -> TurnOutcome {
        self.turns += 1;
        self.parts.engine.new_turn(&self.parts.caller);
        if let Err(fault) = self.fit_to_window(&mut said) {
            return TurnOutcome::refused(fault);
        }
        if let Some(before) = self.pending_input.take() {
            let text = "[Said before, while you were at work:]".to_owned();
            let until = ContentPart::Text { text: "[Said now:]".to_owned() };
            let before = std::iter::once(ContentPart::Text { text }).chain(before);
            said.splice(0..0, before.chain([until]));
        }
        let outer = self.parts.caller.cancel.clone();
        self.interrupt.begin_turn(Some(&outer));
        let mut tally = TurnTally::default();
        let end = match self.append_message(ChatMessage::User { content: said }) {
            Ok(()) => self.run_rounds(budget, &mut tally).await,
            Err(error) => Err(error.into()),
        };
        let end = match end {
            // What was shown was said, and the model must know that.
            Err(TurnStop::Interrupted(Some(said))) => {
                tally.text.clone_from(&said.text);
                self.append_message(ChatMessage::Assistant(*said))
                    .map(|()| TurnEnd::Interrupted)
                    .map_err(TurnStop::from)
            }
            end => end,
        };
        let end = end.unwrap_or_else(TurnEnd::from);
        // What came too late for this turn is for the next.
        self.pending_input = self.interrupt.take_queued_input();
        let TurnTally { text, requests: asked, calls, usage, .. } = tally;
        TurnOutcome { text, end, requests: asked, calls, usage }
    }

    async fn run_rounds(
        &mut self,
        budget: &AgentBudget,
        tally: &mut TurnTally,
    ) -> Result<TurnEnd, TurnStop> {
        loop {
            // What is left must do for this request and for the closing one.
            let next = self.estimate_next_usage(tally.last_usage);
            if let Some(what) = budget.exhausted_reason().or_else(|| budget.shortfall(next, 2)) {
                return self
                    .finish_with_summary(
                        TurnEnd::Budget(what),
                        BUDGET_SUMMARY_PROMPT,
                        next,
                        budget,
                        tally,
                    )
                    .await;
            }
            self.compact_if_full(budget).await?;
            let reply = self.ask_model(budget, tally, RequestGoal::Work).await?;
            tally.text = std::mem::take(&mut tally.paused) + &reply.text;
            let finish = reply.finish.clone();
            let calls = reply.calls.clone();
            let is_silent = calls.is_empty() && reply.text.trim().is_empty();
            let is_empty = is_silent && matches!(finish, FinishReason::Stop | FinishReason::Calls);
            if is_empty && tally.empty < MAX_EMPTY_RETRIES {
                tally.empty += 1;
                self.journal_usage(&reply.usage)?;
                self.emit(&AgentEvent::AnswerDiscarded { why: "the answer was empty" });
                continue;
            }
            if calls.is_empty() {
                self.warn_about_text_calls(&reply.text);
                self.append_message(ChatMessage::Assistant(reply))?;
                match finish {
                    FinishReason::Length => return Ok(TurnEnd::Truncated),
                    FinishReason::Malformed => {
                        let why = "the model writes tool calls that its server cannot read";
                        return Ok(TurnEnd::Broken(why.to_owned()));
                    }
                    FinishReason::Broken => return Ok(tally.broken_off()),
                    FinishReason::Filtered => return Ok(TurnEnd::Withheld),
                    // It is asked to go on where it is.
                    FinishReason::Paused if !is_silent => {
                        tally.paused.clone_from(&tally.text);
                        continue;
                    }
                    _ => {}
                }
                // What somebody said meanwhile is for the next round.
                match self.interrupt.take_queued_input() {
                    Some(content) => self.append_message(ChatMessage::User { content })?,
                    None if is_empty => return Ok(TurnEnd::EmptyAnswer),
                    None => return Ok(TurnEnd::Done),
                }
                continue;
            }
            let reply = self.normalize_calls(reply);
            self.append_message(ChatMessage::Assistant(reply))?;
            let only_script = calls.iter().all(|call| call.name == "execute_code");
            let results = self.run_calls(&calls, budget, tally).await?;
            if only_script {
                budget.refund_round();
            }
            if results.iter().all(is_unknown_tool) {
                tally.strikes += 1;
                if tally.strikes >= MAX_UNKNOWN_TOOL_ROUNDS {
                    return Ok(TurnEnd::UnknownTools);
                }
            } else {
                tally.strikes = 0;
            }
            if self.interrupt.turn_token().is_cancelled() {
                return Err(TurnStop::Interrupted(None));
            }
            if let Some(why) = self.parts.engine.halt_reason(&self.parts.caller) {
                let next = self.estimate_next_usage(tally.last_usage);
                return self
                    .finish_with_summary(
                        TurnEnd::Halted(why),
                        LOOP_SUMMARY_PROMPT,
                        next,
                        budget,
                        tally,
                    )
                    .await;
            }
        }
    }

    /// Asks the model until its answer can be used.
    async fn ask_model(
        &mut self,
        budget: &AgentBudget,
        tally: &mut TurnTally,
        wish: RequestGoal,
    ) -> Result<ModelReply, TurnStop> {
        let mut room = self.parts.params.max_tokens;
        let mut is_shortest = false;
        let mut broken_off = 0;
        for attempt in 0.. {
            budget.spend_round();
            tally.requests += 1;
            self.emit(&AgentEvent::RoundStarted { round: tally.requests });
            let request =
                ModelRequest { cannot_shorten: is_shortest, ..self.build_request(wish, room) };
            let heard = match self.stream_reply(&request).await {
                Err(TurnStop::ModelError(fault))
                    if fault.kind == ModelErrorKind::ContextTooLong && !is_shortest =>
                {
                    // The server knows better how long the conversation is.
                    if attempt < MAX_COMPACTIONS && self.compact_below_server_limit(budget).await? {
                        continue;
                    }
                    // Another model may have a larger window.
                    if !self.parts.model.has_fallback() {
                        return Err(TurnStop::ModelError(fault));
                    }
                    is_shortest = true;
                    continue;
                }
                Err(TurnStop::ModelError(fault))
                    if fault.kind == ModelErrorKind::NoTools
                        && !self.parts.params.text_tool_calls =>
                {
                    // It has no other way, so it asks in its text from now on.
                    self.parts.params.text_tool_calls = true;
                    self.emit(&AgentEvent::Warning(
                        "The model has no tool calls of its own; it asks for tools in its text.",
                    ));
                    continue;
                }
                listened => listened?,
            };
            let StreamedReply { reply, break_cause: broken, discarded_usage: void } = heard;
            tally.break_cause = broken;
            self.journal_usage(&void)?;
            for usage in [void, reply.usage] {
                budget.spend_usage(usage);
                tally.usage += usage;
            }
            tally.last_usage = reply.usage;
            self.warn_about_unknown_price(budget, &reply.usage);
            self.conversation.set_counted(&reply.usage);
            let reply = normalize_reply(
                reply,
                self.parts.params.text_tool_calls,
                self.conversation.messages(),
            );
            if reply.finish == FinishReason::Malformed {
                if tally.malformed < MAX_MALFORMED_RETRIES && budget.exhausted_reason().is_none() {
                    tally.malformed += 1;
                    self.journal_usage(&reply.usage)?;
                    self.emit(&AgentEvent::AnswerDiscarded {
                        why: "the model wrote a call that cannot be read",
                    });
                    continue;
                }
                return Ok(ModelReply { calls: Vec::new(), ..reply });
            }
            let is_cut = matches!(reply.finish, FinishReason::Length | FinishReason::Broken);
            if is_cut && !reply.calls.is_empty() {
                let is_mended = reply.finish == FinishReason::Broken && request.can_retract;
                broken_off += u32::from(is_mended);
                if attempt < MAX_TRUNCATED_RETRIES
                    && broken_off <= MAX_BROKEN_RETRIES
                    && budget.exhausted_reason().is_none()
                {
                    self.journal_usage(&reply.usage)?;
                    self.emit(&AgentEvent::AnswerDiscarded {
                        why: "the answer was cut off in a tool call",
                    });
                    // Where nobody said how much there is, it is what was used up.
                    let had = room.unwrap_or(DEFAULT_ANSWER_TOKENS).max(reply.usage.output);
                    room = Some((had * 2).min(MAX_ANSWER_TOKENS.max(had)));
                    continue;
                }
                // Half a call is not made.
                let reply = ModelReply { calls: Vec::new(), ..reply };
                return Ok(reply);
            }
            self.emit(&AgentEvent::Answered { text: &reply.text, usage: &reply.usage });
            return Ok(reply);
        }
        Err(TurnStop::Interrupted(None))
    }

    fn build_request(&self, wish: RequestGoal, room: Option<u64>) -> ModelRequest {
        let manner = &self.parts.params;
        let (history, _) = repair_history(self.conversation.messages().to_vec());
        let system = ChatMessage::system(self.system_text());
        // Nobody has said this, so it is no part of the conversation.
        let last_word = match wish {
            RequestGoal::Work => None,
            RequestGoal::Summary(words) | RequestGoal::BareSummary(words) => {
                Some(ChatMessage::user(words))
            }
        };
        let messages = std::iter::once(system).chain(history).chain(last_word).collect();
        ModelRequest {
            tools: match wish {
                RequestGoal::Work | RequestGoal::Summary(_) => Arc::clone(&self.parts.tools),
                RequestGoal::BareSummary(_) => Arc::default(),
            },
            choice: if wish == RequestGoal::Work { ToolChoice::Auto } else { ToolChoice::None },
            max_tokens: room,
            temperature: manner.temperature,
            effort: manner.effort.clone(),
            text_tool_calls: manner.text_tool_calls,
            can_retract: self.parts.observer.can_retract(),
            ..ModelRequest::new(manner.model.clone(), messages)
        }
    }

    /// What the model is told first; one that asks for tools in its text is
    /// told of them there.
    fn system_text(&self) -> String {
        let mut system = self.parts.system.clone();
        if self.parts.params.text_tool_calls && !self.parts.tools.is_empty() {
            system.push_str("\n\n");
            system.push_str(&crate::text_calls::tools_prompt(&self.parts.tools));
        }
        system
    }

    /// Makes the calls of an answer. Each gets its one result, whatever happens.
    async fn run_calls(
        &mut self,
        asked: &[RequestedCall],
        budget: &AgentBudget,
        tally: &mut TurnTally,
    ) -> Result<Vec<ToolResult>, TurnStop> {
        let calls: Vec<ToolCall> = asked.iter().map(to_tool_call).collect();
        let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        budget.spend_calls(count);
        tally.calls += count;
        let mut caller = self.turn_caller(budget);
        caller.cancel = self.interrupt.begin_calls();
        let watcher = CallForwarder(Arc::clone(&self.parts.observer));
        let journal = Arc::clone(&self.parts.journal);
        let ledger = ResultJournal::new(watcher, Arc::clone(&journal), caller.cancel.clone());
        let ledger = Arc::new(ledger);
        caller.observer = Some(Arc::clone(&ledger) as Arc<dyn CallObserver>);
        let results = self.parts.engine.dispatch(calls, &caller).await;
        self.interrupt.end_calls();
        let mut written = ledger.finish()?;
        let last = results.len().saturating_sub(1);
        for (at, (call, result)) in asked.iter().zip(&results).enumerate() {
            let mut besides = Vec::new();
            // What a folder says helps nobody who may not look into it.
            if result.is_success()
                && let Ok(arguments) = serde_json::from_str(&call.arguments)
            {
                besides.extend(self.parts.guidance.for_call(&arguments));
                for refused in self.parts.guidance.take_refused() {
                    self.emit(&AgentEvent::Warning(&refused));
                }
            }
            if at == last {
                let news = self.parts.news.as_ref();
                besides.extend(news.and_then(|news| news(&self.parts.caller.session)));
            }
            let message = written.finalize(at, result, &besides, &*journal)?;
            self.conversation.push(message);
        }
        // In their own voice, which nothing that a tool shows can take on.
        if let Some(content) = self.interrupt.take_queued_input() {
            self.append_message(ChatMessage::User { content })?;
        }
        Ok(results)
    }

    /// About what the next request takes: what the last one took, and more by
    /// as much as the conversation is longer.
    fn estimate_next_usage(&self, last: TokenUsage) -> TokenUsage {
        if last.input == 0 {
            return last;
        }
        let input = last.input.max(self.conversation.tokens());
        let growth = input as f64 / last.input as f64;
        TokenUsage { input, cost: last.cost.map(|cost| cost * growth), ..last }
    }

    /// It does not go on: one more answer without tools, so that what was found
    /// out is not lost; unless there is no money or time for even that.
    async fn finish_with_summary(
        &mut self,
        end: TurnEnd,
        words: &'static str,
        next: TokenUsage,
        budget: &AgentBudget,
        tally: &mut TurnTally,
    ) -> Result<TurnEnd, TurnStop> {
        let is_answered =
            matches!(self.conversation.messages().last(), Some(ChatMessage::Assistant(_)));
        let is_late = budget.deadline().is_some_and(|end| end <= Instant::now());
        let is_broke = is_late || budget.shortfall(next, 1).is_some();
        if tally.requests > 0 && !is_answered && !is_broke {
            let reply = self.request_summary(words, budget, tally).await?;
            tally.text.clone_from(&reply.text);
            self.append_message(ChatMessage::Assistant(ModelReply { calls: Vec::new(), ..reply }))?;
        }
        Ok(end)
    }

    /// The closing answer. The tools stay in the request, because it is the
    /// longest beginning that a server has kept, and are forbidden; a server that
    /// does not know how to forbid them is asked once more without any.
    async fn request_summary(
        &mut self,
        words: &'static str,
        budget: &AgentBudget,
        tally: &mut TurnTally,
    ) -> Result<ModelReply, TurnStop> {
        let reply = self.ask_model(budget, tally, RequestGoal::Summary(words)).await?;
        if !reply.text.trim().is_empty() || reply.finish == FinishReason::Filtered {
            return Ok(reply);
        }
        let next = self.estimate_next_usage(tally.last_usage);
        let is_late = budget.deadline().is_some_and(|end| end <= Instant::now());
        if !is_late && budget.shortfall(next, 1).is_none() {
            self.journal_usage(&reply.usage)?;
            self.emit(&AgentEvent::AnswerDiscarded { why: "there was no summary in the answer" });
            match self.ask_model(budget, tally, RequestGoal::BareSummary(words)).await {
                Ok(reply) if !reply.text.trim().is_empty() => return Ok(reply),
                Ok(_) | Err(TurnStop::ModelError(_)) => {}
                Err(stop) => return Err(stop),
            }
        }
        self.emit(&AgentEvent::Warning("The model gave no summary of what was done."));
        Ok(reply)
    }

    /// An answer with its calls as they will be taken. The model reads them again
    /// with every request and goes by what it sees, so that a name or arguments
    /// that had to be mended must not stand beside a result as if they were right.
    fn normalize_calls(&self, mut reply: ModelReply) -> ModelReply {
        let AgentParts { engine, caller, .. } = &self.parts;
        for call in &mut reply.calls {
            let Some((name, mended)) = engine.normalize_call(&call.name, &call.arguments, caller)
            else {
                continue;
            };
            call.name = name;
            if let Some(mended) = mended {
                call.arguments = mended.to_string();
            }
        }
        reply
    }

    /// A call that was only spoken is not made unless that is how this model asks:
    /// it may be quoted.
    fn warn_about_text_calls(&self, text: &str) {
        if self.parts.tools.is_empty() {
            return;
        }
        if self.parts.params.text_tool_calls {
            if crate::text_calls::only_quotes_call(text) {
                self.emit(&AgentEvent::Warning(
                    "The model has written a tool call into a block of code, which quotes it, and it \
                     was not made.",
                ));
            }
        } else if crate::text_calls::ends_with_call(text) {
            self.emit(&AgentEvent::Warning(
                "The model has written a tool call into its answer, and it was not made. If that is \
                 how it asks for tools, set model.tool_calls to text in config.yaml.",
            ));
        }
    }

    /// What costs nobody knows what cannot be kept within a budget.
    fn warn_about_unknown_price(&mut self, budget: &AgentBudget, usage: &TokenUsage) {
        let is_unknown = usage.cost.is_none() && usage.input + usage.output > 0;
        if is_unknown && budget.remaining().cost.is_some() && !self.price_warning_shown {
            self.price_warning_shown = true;
            self.emit(&AgentEvent::Warning(
                "What this model costs is not known, so the budget in dollars does not count. Set \
                 model.prices in config.yaml, or bound the turns.",
            ));
        }
    }

    pub(crate) fn emit(&self, notice: &AgentEvent<'_>) {
        self.parts.observer.on_event(notice);
    }
}

/// An answer without calls that are there twice, and with those that were only
/// spoken.
fn normalize_reply(
    mut reply: ModelReply,
    speaks_calls: bool,
    earlier: &[ChatMessage],
) -> ModelReply {
    if speaks_calls && reply.calls.is_empty() {
        crate::text_calls::take_calls(&mut reply);
    }
    let mut seen = HashSet::new();
    reply.calls.retain(|call| seen.insert((call.name.clone(), call.arguments.clone())));
    // Some servers begin to count anew with every answer.
    let mut ids: HashSet<String> = earlier.iter().flat_map(call_ids).collect();
    for (at, call) in reply.calls.iter_mut().enumerate() {
        if call.id.is_empty() || !ids.insert(call.id.clone()) {
            call.id = format!("call_{}_{at}", crate::text_calls::unique_suffix());
        }
    }
    reply
}

/// The ids of the calls that a message asks for.
fn call_ids(message: &ChatMessage) -> Vec<String> {
    match message {
        ChatMessage::Assistant(reply) => reply.calls.iter().map(|call| call.id.clone()).collect(),
        _ => Vec::new(),
    }
}

fn is_unknown_tool(result: &ToolResult) -> bool {
    result.status == CallStatus::Error(ErrorKind::NotFound)
        && result.disposition == hermes_core::EffectDisposition::NotRun
}
