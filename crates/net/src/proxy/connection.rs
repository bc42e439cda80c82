//! A connection from its request to its record.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use hermes_core::{
    BoxFuture, ConnectionJudge, ConnectionRecord, ConnectionRefusal, ConnectionRequest,
    ConnectionVerdict,
};
use tokio::net::TcpStream;

use super::relay::ByteMeter;
use crate::address::{AddressReach, host_reach, parse_address};
use crate::dialer::{AddressCheck, DialError, Dialer};
use crate::names::is_placeholder;
use crate::refusal;

/// Why a connection was not opened.
#[derive(Debug)]
pub(super) enum OpenError {
    /// It is not allowed.
    Refused(ConnectionRefusal),
    /// It is allowed, but failed.
    Failed(String),
}

/// A requested connection. It is recorded exactly once, when it is dropped,
/// even if its task is aborted.
pub(super) struct JudgedConnection {
    judge: Option<Arc<dyn ConnectionJudge>>,
    request: ConnectionRequest,
    verdict: ConnectionVerdict,
    error: Option<String>,
    started: Instant,
    /// Counts the bytes relayed.
    pub(super) meter: ByteMeter,
}

impl JudgedConnection {
    pub(super) fn new(
        judge: Option<Arc<dyn ConnectionJudge>>,
        request: ConnectionRequest,
        started: Instant,
    ) -> Self {
        let verdict = ConnectionVerdict::Refuse(refusal::undecided());
        Self { judge, request, verdict, error: None, started, meter: ByteMeter::default() }
    }

    pub(super) fn request(&self) -> &ConnectionRequest {
        &self.request
    }

    /// Refuses the connection.
    pub(super) fn refuse(&mut self, refusal: ConnectionRefusal) {
        self.verdict = ConnectionVerdict::Refuse(refusal);
    }

    /// Records an error after the connection was allowed.
    pub(super) fn fail(&mut self, error: impl ToString) {
        self.error = Some(error.to_string());
    }

    /// Asks the judge, and opens the connection.
    pub(super) async fn open(&mut self, dialer: &Dialer) -> Result<TcpStream, OpenError> {
        let opened = self.judge_and_dial(dialer).await;
        match &opened {
            Ok(_) => self.verdict = ConnectionVerdict::Allow,
            Err(OpenError::Refused(refusal)) => self.refuse(refusal.clone()),
            Err(OpenError::Failed(error)) => {
                self.verdict = ConnectionVerdict::Allow;
                self.error = Some(error.clone());
            }
        }
        opened
    }

    async fn judge_and_dial(&mut self, dialer: &Dialer) -> Result<TcpStream, OpenError> {
        let judge = self.judge.clone().ok_or_else(|| OpenError::Refused(refusal::no_judge()))?;
        self.apply_built_in_rules().map_err(OpenError::Refused)?;
        ask_judge(&*judge, &self.request).await.map_err(OpenError::Refused)?;
        let check = JudgeAddressCheck { judge: &*judge, request: &self.request };
        match dialer.connect(&self.request.destination, &check).await {
            Ok(dialed) => {
                self.request.address = Some(dialed.address);
                Ok(dialed.stream)
            }
            Err(DialError::Refused { address, refusal, .. }) => {
                self.request.address = Some(address);
                Err(OpenError::Refused(refusal))
            }
            Err(error) => {
                if let DialError::Connect { address, .. } = &error {
                    self.request.address = Some(*address);
                }
                Err(OpenError::Failed(error.to_string()))
            }
        }
    }

    /// Applied before the judge, so the user is never asked to approve a
    /// connection that is refused anyway.
    fn apply_built_in_rules(&self) -> Result<(), ConnectionRefusal> {
        let host = &self.request.destination.host;
        if host_reach(host) == AddressReach::Metadata {
            return Err(refusal::metadata(host));
        }
        match parse_address(host).filter(|address| is_placeholder(*address)) {
            Some(address) => Err(refusal::unknown_placeholder(address)),
            None => Ok(()),
        }
    }
}

impl Drop for JudgedConnection {
    fn drop(&mut self) {
        let Some(judge) = &self.judge else { return };
        judge.record(ConnectionRecord {
            request: self.request.clone(),
            verdict: self.verdict.clone(),
            error: self.error.take(),
            sent: self.meter.sent(),
            received: self.meter.received(),
            duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
    }
}

/// Asks the judge again, with the resolved address.
struct JudgeAddressCheck<'a> {
    judge: &'a dyn ConnectionJudge,
    request: &'a ConnectionRequest,
}

impl AddressCheck for JudgeAddressCheck<'_> {
    fn check(&self, address: IpAddr) -> BoxFuture<'_, Result<(), ConnectionRefusal>> {
        let request = ConnectionRequest { address: Some(address), ..self.request.clone() };
        Box::pin(async move { ask_judge(self.judge, &request).await })
    }
}

async fn ask_judge(
    judge: &dyn ConnectionJudge,
    request: &ConnectionRequest,
) -> Result<(), ConnectionRefusal> {
    match judge.judge(request).await {
        ConnectionVerdict::Allow => Ok(()),
        ConnectionVerdict::Refuse(refusal) => Err(refusal),
    }
}
