//! This machine.

use std::sync::Arc;

use hermes_exec::Local;

use crate::contract::contract;

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_here_as_everywhere() {
    contract(Arc::new(Local::default())).await;
}
