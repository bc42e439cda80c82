use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hermes_core::{BoxFuture, ToolError};

use super::super::remarks::REMARKS;
use super::super::{Carriage, Carrier, Elsewhere, Way};
use super::Remarks;
use crate::backend::{Backend, Exit};
use crate::order::{Input, Order, Output};

/// A place that stops to answer, or takes long to begin whatever it is asked.
#[derive(Debug, Default)]
struct Mute {
    is_mute: Arc<AtomicBool>,
    seconds: f32,
}

impl Way for Mute {
    fn name(&self) -> &str {
        "mute"
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn carrier(&self, script: &str, _: Carriage) -> Carrier {
        let is_mute = self.is_mute.load(Ordering::Acquire);
        let script = if is_mute { "sleep 600" } else { script };
        let arguments = vec!["-c".into(), format!("sleep {}; {script}", self.seconds).into()];
        let environment = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
        Carrier { program: "sh".into(), arguments, environment }
    }

    fn held(&self) -> Option<String> {
        None
    }

    fn failure(&self, _: Exit, _: &str) -> Option<ToolError> {
        None
    }

    fn force<'a>(&'a self, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn sleeper() -> Order {
    Order {
        program: "sleep".into(),
        arguments: vec!["600".into()],
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        directory: "/".into(),
        input: Input::Nothing,
        output: Output::Together,
        confinement: None,
    }
}

/// Without a bound this would never come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_does_not_answer_holds_up_no_ending() {
    let mute = Arc::new(AtomicBool::new(false));
    let place = Elsewhere::new(Mute { is_mute: Arc::clone(&mute), seconds: 0.0 });
    let remarks = Remarks::default();
    let started = REMARKS.scope(remarks.clone(), place.start("mute", sleeper())).await.unwrap();
    mute.store(true, Ordering::Release);
    started.control.end(Duration::ZERO).await;
    assert!(remarks.all().concat().contains("mute did not answer within"), "{:?}", remarks.all());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_slow_to_begin_is_waited_for() {
    let place = Elsewhere::new(Mute { seconds: 2.1, ..Mute::default() });
    let remarks = Remarks::default();
    let started = REMARKS.scope(remarks.clone(), place.start("slow", sleeper())).await.unwrap();
    // It has begun by then.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    started.control.end(Duration::ZERO).await;
    assert_eq!(remarks.all(), Vec::<String>::new());
}
