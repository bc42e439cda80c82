//! One turn: request a reply, run its calls, repeat.

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
use crate::observer::AgentEvent;
use crate::outcome::{TurnEnd, TurnOutcome};
use crate::reply_stream::StreamedReply;
use crate::result_journal::ResultJournal;

/// Retries of a reply truncated inside a call, each with a higher token limit.
const MAX_TRUNCATED_RETRIES: u32 = 4;
/// Retries of a reply that broke off inside a call, which the model layer has
/// already retried.
const MAX_BROKEN_RETRIES: u32 = 1;
/// Compactions of a conversation that the server rejects as too long.
const MAX_COMPACTIONS: u32 = 3;
/// Token limit of a reply when none is configured, and the maximum for retries.
const DEFAULT_ANSWER_TOKENS: u64 = 4_096;
const MAX_ANSWER_TOKENS: u64 = 32_768;
/// Asks for a summary when the budget is exhausted.
const BUDGET_SUMMARY_PROMPT: &str = "\
The budget of this task is used up, so no more tools can be called. Say in a few sentences what was \
done, what was found, and what is left to do.";
/// Asks for a summary when the loop guard stops the turn.
const LOOP_SUMMARY_PROMPT: &str = "\
The same tool keeps failing, so no more tools can be called. Say in a few sentences what was done, what \
fails and why, and what could be tried instead.";
/// Consecutive rounds that may call only unknown tools.
const MAX_UNKNOWN_TOOL_ROUNDS: u32 = 3;
/// Retries of empty replies per turn.
const MAX_EMPTY_RETRIES: u32 = 2;
/// Retries per turn of replies with a call that the server cannot parse.
const MAX_MALFORMED_RETRIES: u32 = 3;

/// Why a turn stops early.
pub(crate) enum TurnStop {
    /// Holds the partial reply, if any.
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

/// Purpose of a model request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestGoal {
    /// Continue the work.
    Work,
    /// Summarize with this prompt; tools are listed but disabled.
    Summary(&'static str),
    /// Summarize with this prompt, without tools.
    BareSummary(&'static str),
}

/// Running totals of a turn.
#[derive(Default)]
struct TurnTally {
    text: String,
    requests: u32,
    calls: u32,
    strikes: u32,
    empty: u32,
    malformed: u32,
    usage: TokenUsage,
    /// Usage of the last reply.
    last_usage: TokenUsage,
    /// Why the last reply broke off.
    break_cause: Option<ModelError>,
    /// Text of a paused reply so far.
    paused: String,
}

impl TurnTally {
    fn broken_off(&mut self) -> TurnEnd {
        let why = self.break_cause.take().map(|fault| fault.message);
        TurnEnd::Broken(why.unwrap_or_else(|| "unknown cause".to_owned()))
    }
}

impl Agent {
    /// Sends the input to the model and runs the turn to its end.
    pub async fn run_turn(
        &mut self,
        mut said: Vec<ContentPart>,
        budget: &AgentBudget,
    ) -> TurnOutcome {
        self.turn = hermes_core::ids::unique_id().into();
        self.parts.engine.new_turn(&self.parts.caller);
        if let Err(fault) = self.fit_to_window(&mut said) {
            return TurnOutcome::refused(fault);
        }
        if let Some(before) = self.pending_input.take() {
            let text = "[Said earlier, while you were working:]".to_owned();
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
            // The user saw the partial reply, so the conversation keeps it.
            Err(TurnStop::Interrupted(Some(said))) => {
                tally.text.clone_from(&said.text);
                self.append_message(ChatMessage::Assistant(*said))
                    .map(|()| TurnEnd::Interrupted)
                    .map_err(TurnStop::from)
            }
            end => end,
        };
        let end = end.unwrap_or_else(TurnEnd::from);
        // Input that came too late is for the next turn.
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
            // The remaining budget must cover this request and the final
            // summary.
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
                self.emit(&AgentEvent::AnswerDiscarded { why: "the reply was empty" });
                continue;
            }
            if calls.is_empty() {
                self.warn_about_text_calls(&reply.text);
                self.append_message(ChatMessage::Assistant(reply))?;
                match finish {
                    FinishReason::Length => return Ok(TurnEnd::Truncated),
                    FinishReason::Malformed => {
                        let why = "the server cannot parse the model's tool calls";
                        return Ok(TurnEnd::Broken(why.to_owned()));
                    }
                    FinishReason::Broken => return Ok(tally.broken_off()),
                    FinishReason::Filtered => return Ok(TurnEnd::Withheld),
                    // Ask it to continue.
                    FinishReason::Paused if !is_silent => {
                        tally.paused.clone_from(&tally.text);
                        continue;
                    }
                    _ => {}
                }
                // Input queued meanwhile starts another round.
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

    /// Requests replies until one is usable.
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
                    // The server knows the length of the conversation better.
                    if attempt < MAX_COMPACTIONS && self.compact_below_server_limit(budget).await? {
                        continue;
                    }
                    // A fallback model may have a larger window.
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
                    // Without native tool calls, use text calls from now on.
                    self.parts.params.text_tool_calls = true;
                    self.emit(&AgentEvent::Warning(
                        "The model has no native tool calls; it writes them in its text.",
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
                        why: "the model wrote a malformed tool call",
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
                        why: "the reply was truncated in a tool call",
                    });
                    // Without a configured limit, the limit was at least the
                    // tokens used.
                    let had = room.unwrap_or(DEFAULT_ANSWER_TOKENS).max(reply.usage.output);
                    room = Some((had * 2).min(MAX_ANSWER_TOKENS.max(had)));
                    continue;
                }
                // Drop incomplete calls.
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
        // The user did not write this, so it is not part of the conversation.
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

    /// Returns the system prompt, with the tool definitions for text calls.
    fn system_text(&self) -> String {
        let mut system = self.parts.system.clone();
        if self.parts.params.text_tool_calls && !self.parts.tools.is_empty() {
            system.push_str("\n\n");
            system.push_str(&crate::text_calls::tools_prompt(&self.parts.tools));
        }
        system
    }

    /// Runs the calls of a reply. Each gets exactly one result.
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
        let observer = Arc::clone(&self.parts.observer);
        let journal = Arc::clone(&self.parts.journal);
        let ledger = ResultJournal::new(observer, Arc::clone(&journal), caller.cancel.clone());
        let ledger = Arc::new(ledger);
        caller.observer = Some(Arc::clone(&ledger) as Arc<dyn CallObserver>);
        let results = self.parts.engine.dispatch(calls, &caller).await;
        self.interrupt.end_calls();
        let mut written = ledger.finish()?;
        let last = results.len().saturating_sub(1);
        for (at, (call, result)) in asked.iter().zip(&results).enumerate() {
            let mut besides = Vec::new();
            // Show guidance of a directory only after a successful access.
            if result.is_success()
                && let Ok(arguments) = serde_json::from_str(&call.arguments)
            {
                let guidance = self.parts.guidance.for_call(&arguments);
                besides.extend(guidance.map(|text| self.parts.engine.redact_prompt(&text)));
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
        // As a user message, which tool output cannot forge.
        if let Some(content) = self.interrupt.take_queued_input() {
            self.append_message(ChatMessage::User { content })?;
        }
        Ok(results)
    }

    /// Estimates the next request's usage from the last one, scaled by the
    /// growth of the conversation.
    fn estimate_next_usage(&self, last: TokenUsage) -> TokenUsage {
        if last.input == 0 {
            return last;
        }
        let input = last.input.max(self.conversation.tokens());
        let growth = input as f64 / last.input as f64;
        TokenUsage { input, cost: last.cost.map(|cost| cost * growth), ..last }
    }

    /// Ends the turn with a summary without tools, to keep what was found out,
    /// unless the budget does not allow it.
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

    /// Requests the final summary. The tools stay in the request to hit the
    /// server's prompt cache, but are disabled. If the server ignores that, the
    /// request is repeated without tools.
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
            self.emit(&AgentEvent::AnswerDiscarded { why: "the reply contained no summary" });
            match self.ask_model(budget, tally, RequestGoal::BareSummary(words)).await {
                Ok(reply) if !reply.text.trim().is_empty() => return Ok(reply),
                Ok(_) | Err(TurnStop::ModelError(_)) => {}
                Err(stop) => return Err(stop),
            }
        }
        self.emit(&AgentEvent::Warning("The model gave no summary of what was done."));
        Ok(reply)
    }

    /// Replaces calls with their repaired form. The model rereads them with
    /// every request, so a wrong name or argument must not appear beside a
    /// result as if it had been right.
    fn normalize_calls(&self, mut reply: ModelReply) -> ModelReply {
        let AgentParts { engine, caller, .. } = &self.parts;
        for call in &mut reply.calls {
            let Some((name, repaired)) = engine.normalize_call(&call.name, &call.arguments, caller)
            else {
                continue;
            };
            call.name = name;
            if let Some(repaired) = repaired {
                call.arguments = repaired.to_string();
            }
        }
        reply
    }

    /// Warns about a call in the text that was not run, because it may be a
    /// quote.
    fn warn_about_text_calls(&self, text: &str) {
        if self.parts.tools.is_empty() {
            return;
        }
        if self.parts.params.text_tool_calls {
            if crate::text_calls::only_quotes_call(text) {
                self.emit(&AgentEvent::Warning(
                    "The model wrote a tool call in a code block; it counts as a quote and was \
                     not run.",
                ));
            }
        } else if crate::text_calls::ends_with_call(text) {
            self.emit(&AgentEvent::Warning(
                "The model wrote a tool call in its text; it was not run. If the model calls \
                 tools this way, set model.tool_calls to text in config.yaml.",
            ));
        }
    }

    /// Warns once that a dollar budget cannot be enforced without a known
    /// price.
    fn warn_about_unknown_price(&mut self, budget: &AgentBudget, usage: &TokenUsage) {
        let is_unknown = usage.cost.is_none() && usage.input + usage.output > 0;
        if is_unknown && budget.remaining().cost.is_some() && !self.price_warning_shown {
            self.price_warning_shown = true;
            self.emit(&AgentEvent::Warning(
                "The price of this model is unknown, so the dollar budget is not enforced. Set \
                 model.prices in config.yaml, or limit the turns.",
            ));
        }
    }

    pub(crate) fn emit(&self, notice: &AgentEvent<'_>) {
        self.parts.observer.on_event(notice);
    }
}

/// Removes duplicate calls and extracts calls from the text.
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
    // Some servers restart call ids with every reply.
    let mut ids: HashSet<String> = earlier.iter().flat_map(call_ids).collect();
    for (at, call) in reply.calls.iter_mut().enumerate() {
        if call.id.is_empty() || !ids.insert(call.id.clone()) {
            call.id = format!("call_{}_{at}", hermes_core::ids::random_hex(12));
        }
    }
    reply
}

/// Returns the ids of the calls in a message.
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
