//! Programs in another place, reached by a program of this machine: in a
//! container, on another host.
//!
//! A [`Way`] knows how to get there; everything else is the same for all.
//! What is to run travels as text on the carrier's standard input, in front of
//! what the program itself will read, so that neither a value of its
//! environment nor its command line is seen in a list of processes here, and
//! one trip is enough.

mod control;
pub(crate) mod greeting;
pub(crate) mod remarks;
mod script;
pub(crate) mod told;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hermes_core::{BoxFuture, ErrorKind, ToolError};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::sync::OnceCell;

use crate::JobContainment;
use crate::backend::{Backend, Exit, Place, Started};
use crate::errand::{Done, Errand};
use crate::local::Local;
use crate::order::{Input, Order, Output};
use crate::output::Source;
use crate::ready;
use crate::tree;
use control::{Endings, Remote, Voice};
use greeting::Greeting;
use remarks::Remarks;
pub(crate) use script::fresh_word;
pub use script::quote;

/// How long a place has to answer the first question.
const FIRST: Duration = Duration::from_secs(30);
/// How long what went its own way may take to end by itself.
const STRAY: Duration = Duration::from_millis(500);
/// How long a place has to end what is left there.
const PARTING: Duration = Duration::from_secs(4);
/// Bytes of an answer to a question of ours.
const MOST: usize = 4 * 1024 * 1024;

/// The way to a place where programs run.
pub trait Way: Debug + Send + Sync + 'static {
    /// Its name, as in the configuration.
    fn name(&self) -> &str;

    /// Opens it, if it is not open: starts the container, connects to the host.
    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>>;

    /// The program of this machine that runs `sh -c SCRIPT` there.
    fn carrier(&self, script: &str, carriage: Carriage) -> Carrier;

    /// The folder that a session begins in, if not the one that programs are
    /// started in.
    fn directory(&self) -> Option<OsString> {
        None
    }

    /// What keeps programs from getting out of there, in words.
    fn held(&self) -> Option<String>;

    /// What it means that the carrier ended like this, if that was not the
    /// program's own end: the connection broke, the container is gone.
    fn failure(&self, exit: Exit, errors: &str) -> Option<ToolError>;

    /// The same of a program of which nobody there has said how it ended: its
    /// errors were its own, so this may take a look at what is still there.
    fn lost(&self, exit: Exit) -> BoxFuture<'_, Option<ToolError>> {
        Box::pin(async move { self.failure(exit, "") })
    }

    /// Which of the places of this name it leads to.
    fn whereabouts(&self) -> String {
        self.name().to_owned()
    }

    /// Whether somebody there may print something before a program has begun:
    /// a login shell that greets.
    fn greets(&self) -> bool {
        false
    }

    /// Whether the carrier may outlast the program, for as long as somebody
    /// else holds its streams: then a shell there waits for it, and says how it
    /// ended.
    fn outlasts(&self) -> bool {
        false
    }

    /// A program there could not be ended, perhaps because nothing more can be
    /// started: makes room for `script`, which ends it and starts nothing, or
    /// ends it by other means, if there are any.
    fn force<'a>(&'a self, script: &'a str) -> BoxFuture<'a, ()> {
        let _ = script;
        Box::pin(async {})
    }

    /// What programs find in their environment beside what is found there.
    fn environment(&self) -> BTreeMap<OsString, OsString> {
        BTreeMap::new()
    }

    /// What has happened to the place, for whoever runs the next program: it
    /// is told once.
    fn news(&self) -> Option<String> {
        None
    }

    /// Whether what programs have left there goes on when this is closed.
    fn lasts(&self) -> bool {
        true
    }

    /// Ends what it keeps going.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// How a program is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carriage {
    /// It has a terminal there.
    pub terminal: bool,
}

/// A program of this machine that runs another one elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carrier {
    /// A path, or a name to look for.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its own environment.
    pub environment: BTreeMap<OsString, OsString>,
}

/// A place that is reached by a [`Way`].
#[derive(Debug)]
pub struct Elsewhere<W> {
    way: Arc<W>,
    local: Arc<Local>,
    found: OnceCell<Found>,
    endings: Endings,
    /// What all programs that were started there bear behind their marks.
    sign: String,
    /// Whether there was one.
    was_used: AtomicBool,
}

/// A place as it was found.
#[derive(Debug)]
struct Found {
    place: Arc<Place>,
    /// What is in the environment before anything is added.
    bare: BTreeMap<OsString, OsString>,
    /// Somebody greets there.
    greets: bool,
    /// How long it takes to ask for something.
    trip: Duration,
}

impl<W: Way> Elsewhere<W> {
    /// The place at the end of this way.
    pub fn new(way: W) -> Self {
        Self {
            way: Arc::new(way),
            local: Arc::default(),
            found: OnceCell::new(),
            endings: Endings::default(),
            sign: script::fresh_word(),
            was_used: AtomicBool::new(false),
        }
    }

    /// The way there.
    pub fn way(&self) -> &W {
        &self.way
    }

    async fn find(&self) -> Result<&Found, ToolError> {
        self.way.open().await?;
        self.found.get_or_try_init(|| self.look_around()).await
    }

    async fn look_around(&self) -> Result<Found, ToolError> {
        let begin = Instant::now();
        let (done, greeted) = question(&*self.way, &self.local, script::LOOK, FIRST).await?;
        let trip = begin.elapsed();
        if let Some(error) = self.way.failure(done.exit, &done.errors) {
            return Err(error);
        }
        let mut place = script::read_look(&done.output, self.way.directory()).ok_or_else(|| {
            let said = String::from_utf8_lossy(&done.output);
            let said = said.trim().lines().chain(done.errors.trim().lines()).next_back();
            ToolError::unavailable(format!(
                "{}: no shell answers there{}",
                self.way.name(),
                said.map(|said| format!(": {said}")).unwrap_or_default()
            ))
            .with_hint("A place for commands needs a POSIX `sh` with the usual small programs.")
        })?;
        let bare = place.environment.clone();
        place.environment.extend(self.way.environment());
        Ok(Found { place: Arc::new(place), bare, greets: greeted, trip })
    }
}

impl<W: Way> Backend for Elsewhere<W> {
    fn name(&self) -> &str {
        self.way.name()
    }

    fn whereabouts(&self) -> String {
        self.way.whereabouts()
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<Place>, ToolError>> {
        Box::pin(async { Ok(Arc::clone(&self.find().await?.place)) })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        order: Order,
    ) -> BoxFuture<'a, Result<Started, ToolError>> {
        Box::pin(async move {
            let found = self.find().await?;
            let terminal = matches!(order.output, Output::Terminal(_));
            let mark = mark_of(job);
            let text = script::of(&order, &found.bare, &mark, &self.sign);
            self.was_used.store(true, Ordering::Relaxed);
            let end = script::fresh_word();
            let (loader, sent) = if terminal {
                // A terminal would show what it is sent, and cut it.
                (self.leave(text, &end).await?, Vec::new())
            } else {
                let sent = script::ended(text, &end);
                (script::loader(sent.len(), &end), sent)
            };
            let word = (!terminal && self.way.outlasts()).then(script::fresh_word);
            let loader =
                word.as_ref().map_or_else(|| loader.clone(), |word| told::waiter(&loader, word));
            let greeting = found.greets.then(|| Greeting::new(order.output));
            let loader = greeting.as_ref().map_or(loader.clone(), |it| it.before(&loader));
            let carrier = self.way.carrier(&loader, Carriage { terminal });
            let failed = |error: io::Error| ToolError::io("The way there", &error);
            let (heard, said) =
                pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
            let mut started = self.local.start(job, carried(carrier, order.output)).await?;
            started.pid = None;
            started.containment = self.way.held().map(|held| Arc::new(JobContainment::named(held)));
            if let Some(greeting) = greeting {
                started.output = greeting.take_out(started.output).map_err(failed)?;
            }
            let told = word.map(|word| told::overhear(&mut started.output, &word)).transpose();
            let told = told.map_err(failed)?;
            // What is told of the place comes with what the program tells.
            started.output.push((Source::Stderr, heard));
            let remote = Remote::attend(
                started.control,
                Arc::clone(&self.way),
                Arc::clone(&self.local),
                self.endings.clone(),
                mark,
                told,
                Voice { stream: said, terminal, remarks: Remarks::wanted() },
            );
            started.control = Box::new(remote.away(found.trip));
            let sending = hand_over(started.input, &sent, &order.input);
            match tokio::time::timeout(FIRST, sending).await {
                Ok(input) => started.input = input.map_err(failed)?,
                Err(_) => {
                    started.control.end(Duration::ZERO).await;
                    let message = format!("{}: nobody there reads what is sent", self.name());
                    return Err(ToolError::new(ErrorKind::Timeout, message)
                        .with_hint("The command was not run; try again."));
                }
            }
            Ok(started)
        })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // What a place that does not answer was asked to end: the carriers
            // of these questions are not to outlive us.
            self.endings.give_up().await;
            self.end_strays().await;
            self.way.close().await;
        })
    }

    fn news(&self) -> Option<String> {
        self.way.news()
    }
}

impl<W: Way> Elsewhere<W> {
    /// Ends what programs have left there, wherever that has gone: nobody here
    /// would ever know of it.
    async fn end_strays(&self) {
        if !self.was_used.swap(false, Ordering::Relaxed) || !self.way.lasts() {
            return;
        }
        let text = script::ending_all(&self.sign, STRAY);
        // A place that does not answer cannot be waited for: we are about to end.
        let _ = ask(&*self.way, &self.local, &text, STRAY + PARTING).await;
    }

    /// Leaves a text there for a shell that reads it, and throws it away.
    async fn leave(&self, text: Vec<u8>, word: &str) -> Result<String, ToolError> {
        let end = script::fresh_word();
        let sent = script::ended(text, &end);
        let keeper = script::keeper(word, sent.len(), &end);
        let greeting = self.way.greets().then(|| Greeting::new(Output::Apart));
        let keeper = greeting.as_ref().map_or(keeper.clone(), |it| it.before(&keeper));
        let mut errand = errand(&*self.way, &keeper, FIRST);
        errand.order.input = Input::Given(sent);
        let mut done = errand.run(&*self.local, &end).await?;
        if let Some(greeting) = greeting {
            greeting.take_off(&mut done);
        }
        if let Some(error) = self.way.failure(done.exit, &done.errors) {
            return Err(error);
        }
        let file = String::from_utf8_lossy(&done.output).trim_end_matches('\n').to_owned();
        if !done.is_well() || file.is_empty() {
            return Err(ToolError::unavailable(format!(
                "{}: nothing can be written there: {}",
                self.way.name(),
                done.errors.trim()
            )));
        }
        Ok(script::taker(&file))
    }
}

/// What the processes of a job are known by there. It is another one than
/// here: this may be the same machine after all.
pub(crate) fn mark_of(job: &str) -> String {
    tree::mark(None, &format!("{job}-there"))
}

/// Runs a few words of `sh` there.
async fn ask(way: &dyn Way, local: &Local, text: &str, limit: Duration) -> Result<Done, ToolError> {
    Ok(question(way, local, text, limit).await?.0)
}

/// The same, and whether somebody has printed something before.
async fn question(
    way: &dyn Way,
    local: &Local,
    text: &str,
    limit: Duration,
) -> Result<(Done, bool), ToolError> {
    let greeting = way.greets().then(|| Greeting::new(Output::Apart));
    let text = greeting.as_ref().map_or(text.to_owned(), |it| it.before(text));
    // Each has a name of its own: what is ended is found by it.
    let mut done = errand(way, &text, limit).run(local, &script::fresh_word()).await?;
    let greeted = greeting.is_some_and(|greeting| greeting.take_off(&mut done));
    Ok((done, greeted))
}

fn errand(way: &dyn Way, text: &str, limit: Duration) -> Errand {
    let carrier = way.carrier(text, Carriage { terminal: false });
    let mut order = carried(carrier, Output::Apart);
    order.input = Input::Given(Vec::new());
    Errand { order, limit, most: MOST }
}

/// The order for a carrier; it runs here, and nothing holds it.
fn carried(carrier: Carrier, output: Output) -> Order {
    Order {
        program: carrier.program,
        arguments: carrier.arguments,
        environment: carrier.environment,
        directory: "/".into(),
        input: Input::Open,
        output,
        confinement: None,
    }
}

/// Sends what goes in front, and keeps the stream for whoever writes more.
async fn hand_over(
    stream: Option<OwnedFd>,
    sent: &[u8],
    input: &Input,
) -> io::Result<Option<OwnedFd>> {
    let Some(stream) = stream else { return Ok(None) };
    if sent.is_empty() {
        return Ok(Some(stream));
    }
    let stream = ready::stream(stream)?;
    // A carrier that is gone says so by its end.
    let _ = ready::write(&stream, sent).await;
    Ok((*input != Input::Nothing).then(|| stream.into_inner()))
}
