//! Runs several sub-agents concurrently.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hermes_core::{CancellationToken, ToolError};
use tokio::task::JoinSet;

use crate::progress_board::ProgressBoard;
use crate::report::{EndCause, SubagentReport};
use crate::subagent::ParentContext;
use crate::task::PreparedTask;

/// How long cancelled sub-agents may take to stop. Shorter than the engine's
/// grace period for the call, so their reports are not lost.
const STOP_GRACE: Duration = Duration::from_millis(1_500);

/// Runs all tasks; returns one report each, in order. A failure does not affect
/// the other tasks.
pub(crate) async fn run_all(
    parent: Arc<ParentContext>,
    orders: Vec<PreparedTask>,
    board: Arc<ProgressBoard>,
    cancel: CancellationToken,
) -> Vec<SubagentReport> {
    let orders: Vec<Arc<PreparedTask>> = orders.into_iter().map(Arc::new).collect();
    let mut reports: Vec<Option<SubagentReport>> = orders.iter().map(|_| None).collect();
    let mut crashed = HashMap::new();
    let mut working = JoinSet::new();
    let mut places = HashMap::new();
    for (at, order) in orders.iter().enumerate() {
        let (parent, order) = (Arc::clone(&parent), Arc::clone(order));
        // Each task can be stopped alone.
        let (board, cancel) = (Arc::clone(&board), cancel.child_token());
        board.set_stop(at, cancel.clone());
        // Polled here so the slots are granted in task order, whichever task is
        // woken first.
        let mut turn = Box::pin(Arc::clone(&parent.slots).acquire_owned());
        let begun = futures_util::poll!(turn.as_mut());
        let turn = async move {
            match begun {
                Poll::Ready(turn) => turn,
                Poll::Pending => turn.await,
            }
        };
        let task = working
            .spawn(async move { (at, parent.run_task(turn, &order, &board, &cancel).await) });
        places.insert(task.id(), at);
    }
    let out_of_patience = async {
        cancel.cancelled().await;
        tokio::time::sleep(STOP_GRACE).await;
    };
    tokio::pin!(out_of_patience);
    loop {
        let ended = tokio::select! {
            biased;
            ended = working.join_next() => ended,
            () = &mut out_of_patience => None,
        };
        match ended {
            None => break,
            Some(Ok((at, report))) => {
                if let Some(place) = reports.get_mut(at) {
                    *place = Some(report);
                }
            }
            Some(Err(error)) => {
                crashed.extend(places.get(&error.id()).map(|at| (*at, error.is_panic())));
            }
        }
    }
    working.abort_all();
    let mut shown = Vec::with_capacity(orders.len());
    for (at, (report, order)) in reports.into_iter().zip(&orders).enumerate() {
        if let Some(report) = report {
            shown.push(report);
            continue;
        }
        let cause = match crashed.get(&at) {
            Some(true) => EndCause::failed(ToolError::internal("The sub-agent crashed")),
            _ => EndCause::interrupted(),
        };
        let report = parent.report(order, &board, None, cause);
        if !report.session_id.is_empty() {
            parent.clean_up(&report, cancel.is_cancelled()).await;
        }
        shown.push(report);
    }
    shown
}
