use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_core::{BoxFuture, ToolError};

use super::super::remarks::CURRENT_REMARKS;
use super::super::{RemoteBackend, Transport, TransportIo, TransportProcess};
use super::BackendRemarks;
use crate::backend::{ExecBackend, ProcessExit};
use crate::command_spec::{CommandSpec, StdinSource, StdioMode};

/// A backend that stops responding, or delays every command.
#[derive(Debug, Default)]
struct Mute {
    is_mute: Arc<AtomicBool>,
    seconds: f32,
}

impl Transport for Mute {
    fn name(&self) -> &str {
        "mute"
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn transport_process(&self, script: &str, _: TransportIo) -> TransportProcess {
        let is_mute = self.is_mute.load(Ordering::Acquire);
        let script = if is_mute { "sleep 600" } else { script };
        let arguments = vec!["-c".into(), format!("sleep {}; {script}", self.seconds).into()];
        let environment = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
        TransportProcess { program: "sh".into(), arguments, environment }
    }

    fn containment_summary(&self) -> Option<String> {
        None
    }

    fn explain_failure(&self, _: ProcessExit, _: &str) -> Option<ToolError> {
        None
    }

    fn force_kill<'a>(&'a self, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn sleeper() -> CommandSpec {
    CommandSpec {
        program: "sleep".into(),
        arguments: vec!["600".into()],
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        directory: "/".into(),
        input: StdinSource::Empty,
        output: StdioMode::Merged,
        confinement: None,
    }
}

/// Without a timeout this would never return.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_does_not_answer_holds_up_no_ending() {
    let mute = Arc::new(AtomicBool::new(false));
    let place = RemoteBackend::new(Mute { is_mute: Arc::clone(&mute), seconds: 0.0 });
    let remarks = BackendRemarks::default();
    let started =
        CURRENT_REMARKS.scope(remarks.clone(), place.start("mute", sleeper())).await.unwrap();
    mute.store(true, Ordering::Release);
    started.control.terminate(Duration::ZERO).await;
    assert!(remarks.all().concat().contains("mute did not respond within"), "{:?}", remarks.all());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_slow_to_begin_is_waited_for() {
    let place = RemoteBackend::new(Mute { seconds: 2.1, ..Mute::default() });
    let remarks = BackendRemarks::default();
    let started =
        CURRENT_REMARKS.scope(remarks.clone(), place.start("slow", sleeper())).await.unwrap();
    // It has started by then.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    started.control.terminate(Duration::ZERO).await;
    assert_eq!(remarks.all(), Vec::<String>::new());
}
