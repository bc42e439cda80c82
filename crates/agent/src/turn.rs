//! One turn: the model is asked, its calls are made, it is asked again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use hermes_core::{ErrorKind, CallStatus, ToolCall, ToolResult};
use hermes_engine::CallObserver;
use hermes_llm::{RequestedCall, ToolChoice, ModelError, ModelErrorKind, FinishReason, ChatMessage, ContentPart, ModelReply, ModelRequest, TokenUsage};

use crate::agent::{Agent, Makeup, call_of};
use crate::budget::Budget;
use crate::journal::JournalError;
use crate::ledger::Ledger;
use crate::listen::Heard;
use crate::mend::mend;
use crate::outcome::{End, Outcome};
use crate::watcher::{Calls, Notice};

/// How often an answer that was cut off in the middle of a call is asked for
/// again, each time with more room.
const CUT_OFF: u32 = 4;
/// How often one that broke off there, which its model has tried to mend before.
const BROKEN: u32 = 1;
/// How often a conversation is shortened that the server finds too long.
const SHORTER: u32 = 3;
/// The room for an answer where nothing was said, and the most.
const ROOM: u64 = 4_096;
const MOST_ROOM: u64 = 32_768;
/// What a model is told that may not call tools any more.
const SUM_UP: &str = "\
The budget of this task is used up, so no more tools can be called. Say in a few sentences what was \
done, what was found, and what is left to do.";
/// The same for one that goes in circles.
const GIVE_UP: &str = "\
The same tool keeps failing, so no more tools can be called. Say in a few sentences what was done, what \
fails and why, and what could be tried instead.";
/// How often in a row a model may ask for nothing but what does not exist.
const STRIKES: u32 = 3;
/// How often in a turn an answer that says nothing is asked for again.
const EMPTY: u32 = 2;
/// The same for one with a call that its server cannot read.
const MALFORMED: u32 = 3;

/// Why a turn does not go on.
pub(crate) enum Stop {
    /// With what the model had said by then.
    Interrupted(Option<Box<ModelReply>>),
    Fault(ModelError),
    Journal(JournalError),
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Interrupted(_) => Self::Interrupted,
            Stop::Fault(fault) => Self::Fault(fault),
            Stop::Journal(error) => Self::Journal(error.0),
        }
    }
}

impl From<JournalError> for Stop {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

/// What the model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// To go on.
    Work,
    /// To say what came of it, with the tools in sight, asked in these words.
    Summary(&'static str),
    /// The same, without any.
    BareSummary(&'static str),
}

/// What has come of a turn so far.
#[derive(Default)]
struct Tally {
    text: String,
    asked: u32,
    calls: u32,
    strikes: u32,
    empty: u32,
    malformed: u32,
    usage: TokenUsage,
    /// What the last answer took.
    last: TokenUsage,
    /// Why the last answer broke off.
    broken: Option<ModelError>,
    /// What a model has said that has paused.
    paused: String,
}

impl Tally {
    fn broken_off(&mut self) -> End {
        let why = self.broken.take().map(|fault| fault.message);
        End::Broken(why.unwrap_or_else(|| "nobody says why".to_owned()))
    }
}

impl Agent {
    /// Says something to the model, and sees it through to the end.
    pub async fn turn(&mut self, mut said: Vec<ContentPart>, budget: &Budget) -> Outcome {
        self.turns += 1;
        self.makeup.engine.new_turn(&self.makeup.caller);
        if let Err(fault) = self.fit(&mut said) {
            return Outcome::refused(fault);
        }
        if let Some(before) = self.unheard.take() {
            let text = "[Said before, while you were at work:]".to_owned();
            let until = ContentPart::Text { text: "[Said now:]".to_owned() };
            let before = std::iter::once(ContentPart::Text { text }).chain(before);
            said.splice(0..0, before.chain([until]));
        }
        let outer = self.makeup.caller.cancel.clone();
        self.interrupt.begin(Some(&outer));
        let mut tally = Tally::default();
        let end = match self.add(ChatMessage::User { content: said }) {
            Ok(()) => self.rounds(budget, &mut tally).await,
            Err(error) => Err(error.into()),
        };
        let end = match end {
            // What was shown was said, and the model must know that.
            Err(Stop::Interrupted(Some(said))) => {
                tally.text.clone_from(&said.text);
                self.add(ChatMessage::Assistant(*said)).map(|()| End::Interrupted).map_err(Stop::from)
            }
            end => end,
        };
        let end = end.unwrap_or_else(End::from);
        // What came too late for this turn is for the next.
        self.unheard = self.interrupt.take_said();
        let Tally { text, asked, calls, usage, .. } = tally;
        Outcome { text, end, asked, calls, usage }
    }

    async fn rounds(&mut self, budget: &Budget, tally: &mut Tally) -> Result<End, Stop> {
        loop {
            // What is left must do for this request and for the closing one.
            let next = self.next_like(tally.last);
            if let Some(what) = budget.exhausted().or_else(|| budget.short_of(next, 2)) {
                return self.close(End::Budget(what), SUM_UP, next, budget, tally).await;
            }
            self.make_room(budget).await?;
            let reply = self.ask(budget, tally, Wish::Work).await?;
            tally.text = std::mem::take(&mut tally.paused) + &reply.text;
            let finish = reply.finish.clone();
            let calls = reply.calls.clone();
            let is_silent = calls.is_empty() && reply.text.trim().is_empty();
            let is_empty = is_silent && matches!(finish, FinishReason::Stop | FinishReason::Calls);
            if is_empty && tally.empty < EMPTY {
                tally.empty += 1;
                self.spent(&reply.usage)?;
                self.see(&Notice::Again { why: "the answer was empty" });
                continue;
            }
            if calls.is_empty() {
                self.warn_of_spoken(&reply.text);
                self.add(ChatMessage::Assistant(reply))?;
                match finish {
                    FinishReason::Length => return Ok(End::CutOff),
                    FinishReason::Malformed => {
                        let why = "the model writes tool calls that its server cannot read";
                        return Ok(End::Broken(why.to_owned()));
                    }
                    FinishReason::Broken => return Ok(tally.broken_off()),
                    FinishReason::Filtered => return Ok(End::Withheld),
                    // It is asked to go on where it is.
                    FinishReason::Paused if !is_silent => {
                        tally.paused.clone_from(&tally.text);
                        continue;
                    }
                    _ => {}
                }
                // What somebody said meanwhile is for the next round.
                match self.interrupt.take_said() {
                    Some(content) => self.add(ChatMessage::User { content })?,
                    None if is_empty => return Ok(End::Silent),
                    None => return Ok(End::Done),
                }
                continue;
            }
            let reply = self.as_taken(reply);
            self.add(ChatMessage::Assistant(reply))?;
            let only_script = calls.iter().all(|call| call.name == "execute_code");
            let results = self.make_calls(&calls, budget, tally).await?;
            if only_script {
                budget.refund_round();
            }
            if results.iter().all(is_unknown_tool) {
                tally.strikes += 1;
                if tally.strikes >= STRIKES {
                    return Ok(End::Lost);
                }
            } else {
                tally.strikes = 0;
            }
            if self.interrupt.turn().is_cancelled() {
                return Err(Stop::Interrupted(None));
            }
            if let Some(why) = self.makeup.engine.halt_reason(&self.makeup.caller) {
                let next = self.next_like(tally.last);
                return self.close(End::Halted(why), GIVE_UP, next, budget, tally).await;
            }
        }
    }

    /// Asks the model until its answer can be used.
    async fn ask(&mut self, budget: &Budget, tally: &mut Tally, wish: Wish) -> Result<ModelReply, Stop> {
        let mut room = self.makeup.manner.max_tokens;
        let mut is_shortest = false;
        let mut broken_off = 0;
        for attempt in 0.. {
            budget.spend_round();
            tally.asked += 1;
            self.see(&Notice::Asking { round: tally.asked });
            let request = ModelRequest { cannot_shorten: is_shortest, ..self.request(wish, room) };
            let heard = match self.listen(&request).await {
                Err(Stop::Fault(fault)) if fault.kind == ModelErrorKind::ContextTooLong && !is_shortest => {
                    // The server knows better how long the conversation is.
                    if attempt < SHORTER && self.compress_more(budget).await? {
                        continue;
                    }
                    // Another model may have a larger window.
                    if !self.makeup.model.has_fallback() {
                        return Err(Stop::Fault(fault));
                    }
                    is_shortest = true;
                    continue;
                }
                Err(Stop::Fault(fault))
                    if fault.kind == ModelErrorKind::NoTools && !self.makeup.manner.speaks_calls =>
                {
                    // It has no other way, so it asks in its text from now on.
                    self.makeup.manner.speaks_calls = true;
                    self.see(&Notice::Warning(
                        "The model has no tool calls of its own; it asks for tools in its text.",
                    ));
                    continue;
                }
                listened => listened?,
            };
            let Heard { reply, broken, void } = heard;
            tally.broken = broken;
            self.spent(&void)?;
            for usage in [void, reply.usage] {
                budget.spend_usage(usage);
                tally.usage += usage;
            }
            tally.last = reply.usage;
            self.warn_of_price(budget, &reply.usage);
            self.conversation.count(&reply.usage);
            let reply = tidy(reply, self.makeup.manner.speaks_calls, self.conversation.messages());
            if reply.finish == FinishReason::Malformed {
                if tally.malformed < MALFORMED && budget.exhausted().is_none() {
                    tally.malformed += 1;
                    self.spent(&reply.usage)?;
                    self.see(&Notice::Again { why: "the model wrote a call that cannot be read" });
                    continue;
                }
                return Ok(ModelReply { calls: Vec::new(), ..reply });
            }
            let is_cut = matches!(reply.finish, FinishReason::Length | FinishReason::Broken);
            if is_cut && !reply.calls.is_empty() {
                let is_mended = reply.finish == FinishReason::Broken && request.can_retract;
                broken_off += u32::from(is_mended);
                if attempt < CUT_OFF && broken_off <= BROKEN && budget.exhausted().is_none() {
                    self.spent(&reply.usage)?;
                    self.see(&Notice::Again { why: "the answer was cut off in a tool call" });
                    // Where nobody said how much there is, it is what was used up.
                    let had = room.unwrap_or(ROOM).max(reply.usage.output);
                    room = Some((had * 2).min(MOST_ROOM.max(had)));
                    continue;
                }
                // Half a call is not made.
                let reply = ModelReply { calls: Vec::new(), ..reply };
                return Ok(reply);
            }
            self.see(&Notice::Answered { text: &reply.text, usage: &reply.usage });
            return Ok(reply);
        }
        Err(Stop::Interrupted(None))
    }

    fn request(&self, wish: Wish, room: Option<u64>) -> ModelRequest {
        let manner = &self.makeup.manner;
        let (history, _) = mend(self.conversation.messages().to_vec());
        let system = ChatMessage::system(self.system());
        // Nobody has said this, so it is no part of the conversation.
        let last_word = match wish {
            Wish::Work => None,
            Wish::Summary(words) | Wish::BareSummary(words) => Some(ChatMessage::user(words)),
        };
        let messages = std::iter::once(system).chain(history).chain(last_word).collect();
        ModelRequest {
            tools: match wish {
                Wish::Work | Wish::Summary(_) => Arc::clone(&self.makeup.tools),
                Wish::BareSummary(_) => Arc::default(),
            },
            choice: if wish == Wish::Work { ToolChoice::Auto } else { ToolChoice::None },
            max_tokens: room,
            temperature: manner.temperature,
            effort: manner.effort.clone(),
            text_tool_calls: manner.speaks_calls,
            can_retract: self.makeup.watcher.takes_back(),
            ..ModelRequest::new(manner.model.clone(), messages)
        }
    }

    /// What the model is told first; one that asks for tools in its text is
    /// told of them there.
    fn system(&self) -> String {
        let mut system = self.makeup.system.clone();
        if self.makeup.manner.speaks_calls && !self.makeup.tools.is_empty() {
            system.push_str("\n\n");
            system.push_str(&crate::spoken::told(&self.makeup.tools));
        }
        system
    }

    /// Makes the calls of an answer. Each gets its one result, whatever happens.
    async fn make_calls(
        &mut self,
        asked: &[RequestedCall],
        budget: &Budget,
        tally: &mut Tally,
    ) -> Result<Vec<ToolResult>, Stop> {
        let calls: Vec<ToolCall> = asked.iter().map(call_of).collect();
        let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        budget.spend_calls(count);
        tally.calls += count;
        let mut caller = self.caller(budget);
        caller.cancel = self.interrupt.begin_calls();
        let watcher = Calls(Arc::clone(&self.makeup.watcher));
        let journal = Arc::clone(&self.makeup.journal);
        let ledger = Ledger::new(watcher, Arc::clone(&journal), caller.cancel.clone());
        let ledger = Arc::new(ledger);
        caller.observer = Some(Arc::clone(&ledger) as Arc<dyn CallObserver>);
        let results = self.makeup.engine.dispatch(calls, &caller).await;
        self.interrupt.end_calls();
        let mut written = ledger.close()?;
        let last = results.len().saturating_sub(1);
        for (at, (call, result)) in asked.iter().zip(&results).enumerate() {
            let mut besides = Vec::new();
            // What a folder says helps nobody who may not look into it.
            if result.is_success()
                && let Ok(arguments) = serde_json::from_str(&call.arguments)
            {
                besides.extend(self.makeup.guidance.of_call(&arguments));
                for refused in self.makeup.guidance.take_refused() {
                    self.see(&Notice::Warning(&refused));
                }
            }
            if at == last {
                let news = self.makeup.news.as_ref();
                besides.extend(news.and_then(|news| news(&self.makeup.caller.session)));
            }
            let message = written.settle(at, result, &besides, &*journal)?;
            self.conversation.push(message);
        }
        // In their own voice, which nothing that a tool shows can take on.
        if let Some(content) = self.interrupt.take_said() {
            self.add(ChatMessage::User { content })?;
        }
        Ok(results)
    }

    /// About what the next request takes: what the last one took, and more by
    /// as much as the conversation is longer.
    fn next_like(&self, last: TokenUsage) -> TokenUsage {
        if last.input == 0 {
            return last;
        }
        let input = last.input.max(self.conversation.tokens());
        let growth = input as f64 / last.input as f64;
        TokenUsage { input, cost: last.cost.map(|cost| cost * growth), ..last }
    }

    /// It does not go on: one more answer without tools, so that what was found
    /// out is not lost; unless there is no money or time for even that.
    async fn close(
        &mut self,
        end: End,
        words: &'static str,
        next: TokenUsage,
        budget: &Budget,
        tally: &mut Tally,
    ) -> Result<End, Stop> {
        let is_answered =
            matches!(self.conversation.messages().last(), Some(ChatMessage::Assistant(_)));
        let is_late = budget.deadline().is_some_and(|end| end <= Instant::now());
        let is_broke = is_late || budget.short_of(next, 1).is_some();
        if tally.asked > 0 && !is_answered && !is_broke {
            let reply = self.summary(words, budget, tally).await?;
            tally.text.clone_from(&reply.text);
            self.add(ChatMessage::Assistant(ModelReply { calls: Vec::new(), ..reply }))?;
        }
        Ok(end)
    }

    /// The closing answer. The tools stay in the request, because it is the
    /// longest beginning that a server has kept, and are forbidden; a server that
    /// does not know how to forbid them is asked once more without any.
    async fn summary(
        &mut self,
        words: &'static str,
        budget: &Budget,
        tally: &mut Tally,
    ) -> Result<ModelReply, Stop> {
        let reply = self.ask(budget, tally, Wish::Summary(words)).await?;
        if !reply.text.trim().is_empty() || reply.finish == FinishReason::Filtered {
            return Ok(reply);
        }
        let next = self.next_like(tally.last);
        let is_late = budget.deadline().is_some_and(|end| end <= Instant::now());
        if !is_late && budget.short_of(next, 1).is_none() {
            self.spent(&reply.usage)?;
            self.see(&Notice::Again { why: "there was no summary in the answer" });
            match self.ask(budget, tally, Wish::BareSummary(words)).await {
                Ok(reply) if !reply.text.trim().is_empty() => return Ok(reply),
                Ok(_) | Err(Stop::Fault(_)) => {}
                Err(stop) => return Err(stop),
            }
        }
        self.see(&Notice::Warning("The model gave no summary of what was done."));
        Ok(reply)
    }

    /// An answer with its calls as they will be taken. The model reads them again
    /// with every request and goes by what it sees, so that a name or arguments
    /// that had to be mended must not stand beside a result as if they were right.
    fn as_taken(&self, mut reply: ModelReply) -> ModelReply {
        let Makeup { engine, caller, .. } = &self.makeup;
        for call in &mut reply.calls {
            let Some((name, mended)) = engine.normalize_call(&call.name, &call.arguments, caller) else {
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
    fn warn_of_spoken(&self, text: &str) {
        if self.makeup.tools.is_empty() {
            return;
        }
        if self.makeup.manner.speaks_calls {
            if crate::spoken::is_quoted(text) {
                self.see(&Notice::Warning(
                    "The model has written a tool call into a block of code, which quotes it, and it \
                     was not made.",
                ));
            }
        } else if crate::spoken::is_call(text) {
            self.see(&Notice::Warning(
                "The model has written a tool call into its answer, and it was not made. If that is \
                 how it asks for tools, set model.tool_calls to text in config.yaml.",
            ));
        }
    }

    /// What costs nobody knows what cannot be kept within a budget.
    fn warn_of_price(&mut self, budget: &Budget, usage: &TokenUsage) {
        let is_unknown = usage.cost.is_none() && usage.input + usage.output > 0;
        if is_unknown && budget.left().cost.is_some() && !self.is_warned {
            self.is_warned = true;
            self.see(&Notice::Warning(
                "What this model costs is not known, so the budget in dollars does not count. Set \
                 model.prices in config.yaml, or bound the turns.",
            ));
        }
    }

    pub(crate) fn see(&self, notice: &Notice<'_>) {
        self.makeup.watcher.see(notice);
    }
}

/// An answer without calls that are there twice, and with those that were only
/// spoken.
fn tidy(mut reply: ModelReply, speaks_calls: bool, earlier: &[ChatMessage]) -> ModelReply {
    if speaks_calls && reply.calls.is_empty() {
        crate::spoken::take_calls(&mut reply);
    }
    let mut seen = HashSet::new();
    reply.calls.retain(|call| seen.insert((call.name.clone(), call.arguments.clone())));
    // Some servers begin to count anew with every answer.
    let mut ids: HashSet<String> = earlier.iter().flat_map(calls_of).collect();
    for (at, call) in reply.calls.iter_mut().enumerate() {
        if call.id.is_empty() || !ids.insert(call.id.clone()) {
            call.id = format!("call_{}_{at}", crate::spoken::fresh());
        }
    }
    reply
}

/// The ids of the calls that a message asks for.
fn calls_of(message: &ChatMessage) -> Vec<String> {
    match message {
        ChatMessage::Assistant(reply) => reply.calls.iter().map(|call| call.id.clone()).collect(),
        _ => Vec::new(),
    }
}

fn is_unknown_tool(result: &ToolResult) -> bool {
    result.status == CallStatus::Error(ErrorKind::NotFound)
        && result.disposition == hermes_core::EffectDisposition::NotRun
}
