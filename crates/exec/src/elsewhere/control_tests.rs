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

/// A place that stops to answer.
#[derive(Debug, Default)]
struct Mute(Arc<AtomicBool>);

impl Way for Mute {
    fn name(&self) -> &str {
        "mute"
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn carrier(&self, script: &str, _: Carriage) -> Carrier {
        let script = if self.0.load(Ordering::Acquire) { "sleep 600" } else { script };
        let arguments = vec!["-c".into(), script.into()];
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

/// Without a bound this would never come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_does_not_answer_holds_up_no_ending() {
    let mute = Arc::new(AtomicBool::new(false));
    let place = Elsewhere::new(Mute(Arc::clone(&mute)));
    let order = Order {
        program: "sleep".into(),
        arguments: vec!["600".into()],
        environment: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        directory: "/".into(),
        input: Input::Nothing,
        output: Output::Together,
        confinement: None,
    };
    let remarks = Remarks::default();
    let started = REMARKS.scope(remarks.clone(), place.start("mute", order)).await.unwrap();
    mute.store(true, Ordering::Release);
    started.control.end(Duration::ZERO).await;
    assert!(remarks.all().concat().contains("mute does not answer"), "{:?}", remarks.all());
}
