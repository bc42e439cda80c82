//! Programs in another place, reached by a program of this machine: in a
//! container, on another host.
//!
//! A [`Way`] knows how to get there; everything else is the same for all.
//! What is to run travels as text on the carrier's standard input, in front of
//! what the program itself will read, so that neither a value of its
//! environment nor its command line is seen in a list of processes here, and
//! one trip is enough.

mod control;
mod script;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_core::{BoxFuture, ToolError};
use tokio::sync::OnceCell;

use crate::backend::{Backend, Exit, Place, Started};
use crate::errand::{Done, Errand};
use crate::local::Local;
use crate::order::{Input, Order, Output};
use crate::ready;
use crate::tree;
use control::Remote;
pub use script::quote;

/// How long a place has to answer the first question.
const FIRST: Duration = Duration::from_secs(30);
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
    place: OnceCell<Arc<Place>>,
}

impl<W: Way> Elsewhere<W> {
    /// The place at the end of this way.
    pub fn new(way: W) -> Self {
        Self { way: Arc::new(way), local: Arc::default(), place: OnceCell::new() }
    }

    /// The way there.
    pub fn way(&self) -> &W {
        &self.way
    }

    async fn look_around(&self) -> Result<Arc<Place>, ToolError> {
        let done = ask(&*self.way, &self.local, script::LOOK, FIRST).await?;
        if let Some(error) = self.way.failure(done.exit, &done.errors) {
            return Err(error);
        }
        let place = script::read_look(&done.output, self.way.directory()).ok_or_else(|| {
            let said = String::from_utf8_lossy(&done.output);
            let said = said.trim().lines().chain(done.errors.trim().lines()).next_back();
            ToolError::unavailable(format!(
                "{}: no shell answers there{}",
                self.way.name(),
                said.map(|said| format!(": {said}")).unwrap_or_default()
            ))
            .with_hint("A place for commands needs a POSIX `sh` with the usual small programs.")
        })?;
        Ok(Arc::new(place))
    }
}

impl<W: Way> Backend for Elsewhere<W> {
    fn name(&self) -> &str {
        self.way.name()
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<Place>, ToolError>> {
        Box::pin(async {
            self.way.open().await?;
            self.place.get_or_try_init(|| self.look_around()).await.cloned()
        })
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        order: Order,
    ) -> BoxFuture<'a, Result<Started, ToolError>> {
        Box::pin(async move {
            let place = self.open().await?;
            let terminal = matches!(order.output, Output::Terminal(_));
            let mark = tree::mark(None, job);
            let text = script::of(&order, &place.environment, &mark);
            let end = script::fresh_word();
            let (loader, sent) = if terminal {
                // A terminal would show what it is sent, and cut it.
                (self.leave(text, &end).await?, Vec::new())
            } else {
                (script::loader(&end), script::ended(text, &end))
            };
            let carrier = self.way.carrier(&loader, Carriage { terminal });
            let mut started = self.local.start(job, carried(carrier, order.output)).await?;
            started.input = hand_over(started.input, &sent, &order.input).await?;
            started.pid = None;
            started.held = self.way.held();
            started.control = Box::new(Remote {
                carrier: started.control,
                way: Arc::clone(&self.way),
                local: Arc::clone(&self.local),
                mark,
                asked: Mutex::default(),
            });
            Ok(started)
        })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        self.way.close()
    }
}

impl<W: Way> Elsewhere<W> {
    /// Leaves a text there for a shell that reads it, and throws it away.
    async fn leave(&self, text: Vec<u8>, word: &str) -> Result<String, ToolError> {
        let end = script::fresh_word();
        let mut errand = errand(&*self.way, &script::keeper(word, &end), FIRST);
        errand.order.input = Input::Given(script::ended(text, &end));
        let done = errand.run(&*self.local, "leave").await?;
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

/// Runs a few words of `sh` there.
async fn ask(
    way: &dyn Way,
    local: &Local,
    text: &str,
    limit: Duration,
) -> Result<Done, ToolError> {
    errand(way, text, limit).run(local, "ask").await
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
) -> Result<Option<OwnedFd>, ToolError> {
    let Some(stream) = stream else { return Ok(None) };
    if sent.is_empty() {
        return Ok(Some(stream));
    }
    let failed = |error: io::Error| ToolError::io("The way there", &error);
    let stream = ready::stream(stream).map_err(failed)?;
    // A carrier that is gone says so by its end.
    let _ = ready::write(&stream, sent).await;
    Ok((*input != Input::Nothing).then(|| stream.into_inner()))
}
