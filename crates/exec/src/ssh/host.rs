//! Another host as a place, which outlives the connections to it: a program
//! that lost its connection may still run there, and is ended when the host is
//! reached again.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_core::{BoxFuture, ToolError};
use tokio::sync::watch;

use super::{Settings, Ssh, marked};
use crate::backend::{Backend, Control, Exit, Place, Started, Waiting};
use crate::elsewhere::{Elsewhere, fresh_word, mark_of, told};
use crate::order::{Order, Output, Size};
use crate::tree::Signal;

/// How long a program that nobody hears any more has to go by itself.
const GRACE: Duration = Duration::from_secs(1);

/// How long ssh has to end after the program.
const CLOSING: Duration = Duration::from_secs(1);

/// Another host.
#[derive(Debug)]
pub struct Host {
    place: Elsewhere<Ssh>,
    adrift: Adrift,
}

/// The marks of programs that lost their connection.
#[derive(Debug, Clone, Default)]
struct Adrift(Arc<Mutex<Vec<String>>>);

impl Adrift {
    fn marks(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    /// The host that these settings describe. Nothing is connected yet.
    pub fn new(settings: Settings) -> Self {
        Self { place: Elsewhere::new(Ssh::new(settings)), adrift: Adrift::default() }
    }

    /// Reaches the host, and ends what has been adrift there.
    async fn reach(&self) -> Result<Arc<Place>, ToolError> {
        let place = self.place.open().await?;
        let marks = std::mem::take(&mut *self.adrift.marks());
        if marks.is_empty() {
            return Ok(place);
        }
        let way = self.place.way();
        match way.ask(&marked::ending(&marks, GRACE)).await {
            Ok(done) if done.is_well() => {
                let ended = String::from_utf8_lossy(&done.output).trim().parse().unwrap_or(0_usize);
                if ended > 0 {
                    way.tell([format!(
                        "The connection to {} was made anew. What had lost its connection was \
                         still running there ({ended} processes) and was ended.",
                        way.host()
                    )]);
                }
            }
            // The next time, then.
            _ => self.adrift.marks().extend(marks),
        }
        Ok(place)
    }
}

impl Backend for Host {
    fn name(&self) -> &str {
        self.place.name()
    }

    fn whereabouts(&self) -> String {
        self.place.whereabouts()
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<Place>, ToolError>> {
        Box::pin(self.reach())
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        order: Order,
    ) -> BoxFuture<'a, Result<Started, ToolError>> {
        Box::pin(async move {
            self.reach().await?;
            let terminal = matches!(order.output, Output::Terminal(_));
            let mut told = None;
            let mut started = if terminal {
                self.place.start(job, order).await?
            } else {
                let word = fresh_word();
                let begun = told::WORD.scope(word.clone(), self.place.start(job, order)).await;
                let mut started = begun?;
                told = Some(overhear(&mut started, &word)?);
                started
            };
            started.control = Box::new(Moored {
                control: started.control,
                told,
                mark: mark_of(job),
                adrift: self.adrift.clone(),
            });
            Ok(started)
        })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        self.place.cleanup()
    }

    fn news(&self) -> Option<String> {
        self.place.news()
    }
}

/// Listens for the end of a program, in the stream that carries its errors.
fn overhear(started: &mut Started, word: &str) -> Result<Told, ToolError> {
    let failed = |error: io::Error| ToolError::io("The command's streams", &error);
    // The last one is not of the program; its errors come last of its own.
    let at = started.output.len().saturating_sub(2);
    let (source, stream) = started.output.remove(at);
    let (stream, told) = told::listen(source, stream, word).map_err(failed)?;
    started.output.insert(at, (source, stream));
    Ok(told)
}

type Told = watch::Receiver<Option<i32>>;

/// A program there, which may lose its connection.
#[derive(Debug)]
struct Moored {
    control: Box<dyn Control>,
    /// Its code, as it is told there; of a terminal ssh tells it.
    told: Option<Told>,
    mark: String,
    adrift: Adrift,
}

impl Control for Moored {
    fn ended(&self) -> BoxFuture<'_, io::Result<Exit>> {
        Box::pin(async {
            let code = match self.told.clone() {
                Some(mut told) => {
                    let heard =
                        async { told.wait_for(Option::is_some).await.ok().and_then(|code| *code) };
                    tokio::pin!(heard);
                    tokio::select! {
                        code = &mut heard => code,
                        // Who shares the connection has its streams, and keeps them
                        // for as long as the host does not answer.
                        _ = self.control.ended() => {
                            tokio::time::timeout(CLOSING, heard).await.ok().flatten()
                        }
                    }
                }
                None => None,
            };
            if let Some(code) = code {
                // Somebody else may hold its streams for long.
                let _ = tokio::time::timeout(CLOSING, self.control.ended()).await;
                return Ok(Exit::Code(code));
            }
            let ended = self.control.ended().await;
            if ended.is_err() || (self.told.is_some() && !matches!(ended, Ok(Exit::Code(0)))) {
                let mut adrift = self.adrift.marks();
                if !adrift.contains(&self.mark) {
                    adrift.push(self.mark.clone());
                }
            }
            ended
        })
    }

    fn end(&self, grace: Duration) -> BoxFuture<'_, ()> {
        self.control.end(grace)
    }

    fn abandon(&self) {
        self.control.abandon();
    }

    fn is_over(&self) -> bool {
        self.control.is_over()
    }

    fn leaves(&self, is_likely: bool) -> BoxFuture<'_, bool> {
        self.control.leaves(is_likely)
    }

    fn deserted(&self) -> BoxFuture<'_, ()> {
        self.control.deserted()
    }

    fn signal(&self, signal: Signal) -> BoxFuture<'_, usize> {
        self.control.signal(signal)
    }

    fn awaits_input(&self) -> BoxFuture<'_, Waiting> {
        self.control.awaits_input()
    }

    fn resize(&self, size: Size) -> io::Result<()> {
        self.control.resize(size)
    }
}
