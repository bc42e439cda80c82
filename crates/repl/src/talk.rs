//! A question to an interpreter, from the code to what came of it.

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_core::ToolContext;
use hermes_exec::ProcessExit;
use hermes_exec::output::OutputStream;
use tokio::sync::mpsc;

use crate::answer::{Answer, Status, Told};
use crate::interpreter::{Event, Interpreter};
use crate::language::Language;
use crate::limits::Limits;
use crate::pictures::{Drawn, Picture};

/// How often one hears of code that runs.
const TICK: Duration = Duration::from_secs(1);
/// How long the last words of an interpreter may take to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long one that does not listen has to go by itself.
const GRACE: Duration = Duration::from_millis(500);
/// When a shell is interrupted once more.
pub(crate) const AGAIN: Duration = Duration::from_millis(700);
/// Pictures of one answer.
const MOST_PICTURES: usize = 20;

/// A question.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) id: u64,
    pub(crate) code: &'a str,
    pub(crate) types: bool,
    pub(crate) timeout: Duration,
    pub(crate) limits: &'a Limits,
    /// Where pictures go.
    pub(crate) folder: &'a Path,
}

/// Why code is being stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Timeout,
    Cancelled,
}

/// How a question ended.
#[derive(Debug)]
enum End {
    Told(Box<Told>),
    /// It has ended by itself, or somebody else has ended it.
    Gone(ProcessExit),
    /// It had to be ended.
    Killed,
}

/// What is gathered while code runs.
#[derive(Debug, Default)]
struct Gathered {
    pictures: Vec<Picture>,
    notes: Vec<String>,
    marked: bool,
}

impl Interpreter {
    /// Sends the driver, and waits until it can be asked something.
    pub(crate) async fn greet(&self) -> Result<(), String> {
        // If it is not there any more, that is seen below.
        let _ = self.write(&self.made.language.greeting()).await;
        let mut events = self.events.lock().await;
        let (mut ready, mut marked) = (false, false);
        while !(ready && marked) {
            tokio::select! {
                biased;
                event = events.recv() => match event {
                    Some(Event::Told(told)) => if let Some(version) = told.ready {
                        let name = self.made.language.name();
                        let program = told.program.unwrap_or_default();
                        let _ = self.version.set(format!("{name} {version} ({program})"));
                        ready = true;
                    },
                    Some(Event::Marked) => marked = true,
                    Some(Event::Drew(_)) => {}
                    None => return Err(self.last_words()),
                },
                _ = self.exit() => {
                    drain(&mut events, |_| ()).await;
                    return Err(self.last_words());
                }
            }
        }
        // What a shell says about its terminal is of no interest.
        self.take_log();
        Ok(())
    }

    fn last_words(&self) -> String {
        let log = self.take_log();
        let said = log.stream_summary(OutputStream::Stderr, 2_000).text;
        said.trim().lines().next_back().unwrap_or("it ended at once").to_owned()
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask(&self, question: &Question<'_>, cx: &ToolContext) -> Answer {
        self.touch();
        let began = Instant::now();
        let mut gathered = Gathered::default();
        let (end, stop) = self.converse(question, &mut gathered, cx).await;
        self.touch();
        let log = self.take_log();
        let Limits { stdout, stderr, .. } = *question.limits;
        let mut answer = Answer {
            status: Status::Ok,
            value: None,
            rows: None,
            exit_code: None,
            error: None,
            stdout: log.stream_summary(OutputStream::Stdout, stdout).into(),
            stderr: log.stream_summary(OutputStream::Stderr, stderr).into(),
            pictures: gathered.pictures,
            notes: gathered.notes,
            seconds: began.elapsed().as_secs_f64(),
            interpreter: self.describe(),
            held: self.held.clone(),
        };
        if self.made.language == Language::Bash {
            answer.stderr.text = without_noise(&answer.stderr.text, question.code);
        }
        answer.settle(end, stop, question);
        answer
    }

    async fn converse(
        &self,
        question: &Question<'_>,
        gathered: &mut Gathered,
        cx: &ToolContext,
    ) -> (End, Option<Stop>) {
        let mut events = self.events.lock().await;
        // What was said about an earlier question came too late.
        while events.try_recv().is_ok() {}
        let language = self.made.language;
        let request = language.request(question.id, question.code, question.types);
        let mut sending = Box::pin(self.write(&request));
        let mut sent = false;
        let began = Instant::now();
        let mut until = began.checked_add(question.timeout).unwrap_or(began);
        let mut tick = tokio::time::interval(TICK);
        let mut stop = None;
        let (is_shell, mut again) = (language == Language::Bash, until);
        loop {
            let why = tokio::select! {
                biased;
                event = events.recv() => {
                    let Some(event) = event else {
                        return (End::Gone(self.exit().await), stop);
                    };
                    if let Some(told) = gathered.take(event, question) {
                        gathered.await_mark(&mut events, question).await;
                        return (End::Told(told), stop);
                    }
                    continue;
                }
                _ = &mut sending, if !sent => {
                    sent = true;
                    continue;
                }
                exit = self.exit() => {
                    let mut told = None;
                    drain(&mut events, |event| told = gathered.take(event, question).or(told.take()))
                        .await;
                    // It may have answered and ended then.
                    return (told.map_or(End::Gone(exit), End::Told), stop);
                }
                () = cx.cancel.cancelled(), if stop.is_none() => Stop::Cancelled,
                () = tokio::time::sleep_until(until.into()) => Stop::Timeout,
                // A shell does not hear an interrupt between two programs.
                () = tokio::time::sleep_until(again.into()), if stop.is_some() && is_shell => {
                    self.stop(question.id).await;
                    again = Instant::now() + AGAIN;
                    continue;
                }
                _ = tick.tick() => {
                    let seconds = began.elapsed().as_secs();
                    if seconds > 0 {
                        cx.report_progress(None, format!("{}: {seconds} s", language.name()));
                    }
                    continue;
                }
            };
            if stop.is_some() {
                // It was interrupted, and does not care.
                self.end(GRACE).await;
                drain(&mut events, |event| drop(gathered.take(event, question))).await;
                return (End::Killed, stop);
            }
            stop = Some(why);
            until = Instant::now() + question.limits.grace;
            again = Instant::now() + AGAIN;
            self.stop(question.id).await;
        }
    }

    /// Interrupts the code of a question.
    pub(crate) async fn stop(&self, id: u64) {
        self.interrupt().await;
        // An answer may have been thrown away with the rest. What is still
        // being sent must not be torn apart.
        let reminder = self.made.language.reminder(id);
        if let Ok(input) = self.input.try_lock() {
            // A pipe takes so little at once, or it is full.
            let _ = input.try_write(&reminder);
        }
    }
}

/// Takes what is still on its way from an interpreter that has ended.
async fn drain(events: &mut mpsc::Receiver<Event>, mut take: impl FnMut(Event)) {
    let all = async {
        while let Some(event) = events.recv().await {
            take(event);
        }
    };
    // What it has started may keep the stream open.
    let _ = tokio::time::timeout(LAST_WORDS, all).await;
}

impl Gathered {
    /// Takes something that a driver has done; the answer, if it is that.
    fn take(&mut self, event: Event, question: &Question<'_>) -> Option<Box<Told>> {
        match event {
            Event::Told(told) => {
                (told.done == Some(question.id) || told.is_garbled).then_some(told)
            }
            Event::Drew(drawn) => {
                self.keep(&drawn, question.folder);
                None
            }
            Event::Marked => {
                self.marked = true;
                None
            }
        }
    }

    fn keep(&mut self, drawn: &Drawn, folder: &Path) {
        if self.pictures.len() >= MOST_PICTURES {
            return;
        }
        match drawn.save(folder) {
            Ok(picture) => self.pictures.push(picture),
            Err(error) => self.notes.push(format!("A picture cannot be saved: {error}")),
        }
    }

    /// Waits until all is there that was written before the answer.
    async fn await_mark(&mut self, events: &mut mpsc::Receiver<Event>, question: &Question<'_>) {
        let all = async {
            while !self.marked {
                match events.recv().await {
                    Some(event) => drop(self.take(event, question)),
                    None => break,
                }
            }
        };
        let _ = tokio::time::timeout(LAST_WORDS, all).await;
    }
}

impl Answer {
    fn settle(&mut self, end: End, stop: Option<Stop>, question: &Question<'_>) {
        let seconds = question.timeout.as_secs_f64();
        let told = match end {
            End::Told(told) => *told,
            End::Killed => {
                self.status = Status::Ended;
                let why = match stop {
                    Some(Stop::Cancelled) => "The call was cancelled".to_owned(),
                    _ => format!("The code ran longer than {seconds:.1} s"),
                };
                self.notes.push(format!(
                    "{why} and did not stop when it was interrupted, so the interpreter was ended. Its state is lost; the next call starts a new one."
                ));
                return;
            }
            End::Gone(exit) => {
                self.status = Status::Ended;
                self.exit_code = Some(exit.code());
                // Node says so, and then ends itself.
                let said = self.stderr.text.to_ascii_lowercase();
                let is_full = exit.code() != 0
                    && ["out of memory", "allocation failed", "memoryerror"]
                        .iter()
                        .any(|it| said.contains(it));
                let why = if is_full { ": it had used up its memory" } else { "" };
                self.notes.push(format!(
                    "The interpreter {}{why}. Its state is lost; the next call starts a new one.",
                    describe(exit)
                ));
                return;
            }
        };
        self.value = told.value;
        self.rows = told.rows;
        self.exit_code = told.status;
        self.error = told.error;
        self.notes.extend(told.note);
        // A shell whose program was stopped may think that all went well.
        let was_interrupted = match told.status {
            Some(status) => status == 130 || stop.is_some(),
            None => told.interrupted,
        };
        self.status = match (stop, was_interrupted, &self.error) {
            (Some(Stop::Timeout), true, _) => {
                self.notes.push(format!(
                    "The code ran longer than {seconds:.1} s and was interrupted; the state is kept. A longer 'timeout' gives it more time."
                ));
                Status::Timeout
            }
            (_, true, _) => Status::Interrupted,
            (_, false, Some(_)) => Status::Error,
            (_, false, None) if told.status.is_some_and(|status| status != 0) => Status::Error,
            (_, false, None) => Status::Ok,
        };
    }
}

/// A shell that was told that somebody is there misses the terminal.
fn without_noise(text: &str, code: &str) -> String {
    // It tells of the command that runs the code; theirs are one level deeper.
    let quoted = code.replace('\'', r"'\''");
    let told = [format!("+ eval '{quoted}'\n"), format!("+ eval {code}\n")];
    let at = told.iter().find_map(|told| Some((text.find(told.as_str())?, told.len())));
    let (before, text) = match at {
        Some((at, length)) => {
            let (before, rest) = text.split_at(at);
            (before, rest.get(length..).unwrap_or_default())
        }
        None => ("", text),
    };
    let is_noise = |line: &str| {
        // What it tells of each line.
        let ours = ["{ __hermes_begin ", "{ __hermes_end "];
        let is_ours = ours.iter().any(|begin| line.starts_with(begin));
        is_ours
            || line.starts_with("bash: [")
                && line.trim_end().ends_with("tcsetattr: Inappropriate ioctl for device")
    };
    let lines = before.split_inclusive('\n').chain(text.split_inclusive('\n'));
    lines.filter(|line| !is_noise(line)).collect()
}

pub(crate) fn describe(exit: ProcessExit) -> String {
    match exit {
        ProcessExit::Code(code) => format!("has ended by itself with exit code {code}"),
        ProcessExit::Signal(signal) => {
            let name = match signal {
                4 => " (illegal instruction)",
                6 => " (aborted)",
                7 => " (bus error)",
                9 => " (killed; perhaps there was no more memory)",
                11 => " (segmentation fault)",
                15 => " (terminated)",
                _ => "",
            };
            format!("was ended by signal {signal}{name}")
        }
    }
}
