//! Several sub-agents at work, side by side.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hermes_core::{CancellationToken, ToolError};
use tokio::task::JoinSet;

use crate::board::Board;
use crate::child::Parent;
use crate::order::Order;
use crate::report::{Cause, Report};

/// How long sub-agents that were told to stop may take to do so. Less than the
/// engine gives the call itself, so that what they did is still told.
const GRACE: Duration = Duration::from_millis(1_500);

/// Sees all tasks through. One report each, in the order of the tasks; what
/// becomes of one does no harm to the others.
pub(crate) async fn see_through(
    parent: Arc<Parent>,
    orders: Vec<Order>,
    board: Arc<Board>,
    cancel: CancellationToken,
) -> Vec<Report> {
    let orders: Vec<Arc<Order>> = orders.into_iter().map(Arc::new).collect();
    let mut reports: Vec<Option<Report>> = orders.iter().map(|_| None).collect();
    let mut crashed = HashMap::new();
    let mut working = JoinSet::new();
    let mut places = HashMap::new();
    for (at, order) in orders.iter().enumerate() {
        let (parent, order) = (Arc::clone(&parent), Arc::clone(order));
        let (board, cancel) = (Arc::clone(&board), cancel.clone());
        // They stand in line as they stand in the list, whichever is woken first.
        let mut turn = Box::pin(Arc::clone(&parent.lane).acquire_owned());
        let begun = futures_util::poll!(turn.as_mut());
        let turn = async move {
            match begun {
                Poll::Ready(turn) => turn,
                Poll::Pending => turn.await,
            }
        };
        let task =
            working.spawn(async move { (at, parent.work(turn, &order, &board, &cancel).await) });
        places.insert(task.id(), at);
    }
    let out_of_patience = async {
        cancel.cancelled().await;
        tokio::time::sleep(GRACE).await;
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
    let mut told = Vec::with_capacity(orders.len());
    for (at, (report, order)) in reports.into_iter().zip(&orders).enumerate() {
        if let Some(report) = report {
            told.push(report);
            continue;
        }
        let cause = match crashed.get(&at) {
            Some(true) => Cause::failed(ToolError::internal("The sub-agent crashed")),
            _ => Cause::interrupted(),
        };
        let report = parent.report(order, &board, None, cause);
        if !report.session_id.is_empty() {
            parent.say_farewell(&report, cancel.is_cancelled()).await;
        }
        told.push(report);
    }
    told
}
