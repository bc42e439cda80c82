//! Stage 8: the tool runs, as a task of its own, and whatever it does there
//! is one answer.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{BoundCall, Disposition, ErrorKind, ToolContext, ToolError, ToolOutput};
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

use super::{Flight, Landed};
use crate::entry::Entry;

/// How long a tool that was told to stop may take to do so.
const GRACE: Duration = Duration::from_secs(2);

type Ended = Result<Result<ToolOutput, ToolError>, JoinError>;

impl Flight {
    pub(super) async fn run(
        &self,
        call_id: &str,
        entry: &Arc<Entry>,
        bound: Box<dyn BoundCall>,
    ) -> Landed {
        let started = Instant::now();
        let mut deadline = started + entry.spec().timeout.unwrap_or(self.engine.default_timeout);
        if let Some(batch) = self.caller.deadline {
            deadline = deadline.min(batch);
        }
        let cancel = self.caller.cancel.child_token();
        let _stop_if_dropped = cancel.clone().drop_guard();
        let cx = ToolContext {
            call_id: call_id.into(),
            tool: entry.name().into(),
            task_id: Arc::clone(&self.caller.task_id),
            session: self.caller.session.clone(),
            workplace: Arc::clone(&self.workplace),
            cancel: cancel.clone(),
            deadline: Some(deadline),
            ports: Arc::clone(&self.engine.ports),
            progress: self.caller.progress.clone(),
            host: Some(Arc::clone(&self.host)),
        };
        let boarded = Arc::clone(entry);
        let mut task = AbortOnDropHandle::new(tokio::spawn(async move {
            let _in_flight = boarded.board();
            boarded.ensure_ready().await?;
            bound.run(cx).await
        }));

        let stopped = tokio::select! {
            biased;
            ended = &mut task => return land(entry.name(), ended),
            () = self.caller.cancel.cancelled() => ToolError::cancelled(),
            () = tokio::time::sleep_until(deadline.into()) => ToolError::new(
                ErrorKind::Timeout,
                format!("{} did not finish within {} s", entry.name(), round(deadline - started)),
            ),
        };
        cancel.cancel();
        // A tool that stops in time may have something to say, such as the
        // output so far; its own word that it was cancelled adds nothing.
        match tokio::time::timeout(GRACE, &mut task).await {
            Ok(Ok(Ok(output))) => land(entry.name(), Ok(Ok(output))),
            Ok(Ok(Err(error))) if error.kind() != ErrorKind::Cancelled => {
                Landed { outcome: Err(error), disposition: Disposition::Unknown }
            }
            _ => Landed { outcome: Err(stopped), disposition: Disposition::Unknown },
        }
    }
}

fn land(tool: &str, ended: Ended) -> Landed {
    let outcome = match ended {
        Ok(Ok(output)) => output.into_checked(),
        // The tool noticed by itself that it was to stop.
        Ok(Err(error)) if error.kind() == ErrorKind::Cancelled => {
            return Landed { outcome: Err(error), disposition: Disposition::Unknown };
        }
        Ok(Err(error)) => Err(error),
        Err(join) if join.is_panic() => {
            let error = crashed(tool, &*join.into_panic());
            return Landed { outcome: Err(error), disposition: Disposition::Unknown };
        }
        Err(_) => Err(ToolError::cancelled()),
    };
    Landed { outcome, disposition: Disposition::Complete }
}

/// The error for a tool that panicked.
pub(super) fn crashed(tool: &str, panic: &(dyn Any + Send)) -> ToolError {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    ToolError::internal(format!("{tool} crashed: {text}"))
}

fn round(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}
