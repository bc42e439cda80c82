//! List-changed notifications. Servers with the newer protocol send them only
//! to subscribers.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, DiscoverRequest, DiscoverRequestParams, PingRequest, SubscriptionFilter,
};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::connection::{McpConnection, ProtocolEra};

/// Maximum number of subscription attempts.
const MAX_ATTEMPTS: u32 = 5;

/// Subscribes to list changes if the protocol requires it, until the handle is
/// dropped.
pub(crate) fn subscribe(
    connection: &Arc<McpConnection>,
    changed: &Arc<Notify>,
) -> Option<AbortOnDropHandle<()>> {
    if connection.era() == ProtocolEra::Legacy {
        return None;
    }
    let (connection, changed) = (Arc::clone(connection), Arc::clone(changed));
    Some(AbortOnDropHandle::new(tokio::spawn(async move {
        for number in 1..=MAX_ATTEMPTS {
            let Ok(mut news) = connection.peer().listen(subscription_filter(&connection)).await
            else {
                // The server does not support subscriptions.
                return;
            };
            // A change before the subscription would have been missed.
            changed.notify_one();
            while let Ok(Some(_)) = news.next().await {
                changed.notify_one();
            }
            if connection.is_closed() {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1) * number).await;
        }
    })))
}

fn subscription_filter(connection: &McpConnection) -> SubscriptionFilter {
    let capabilities = &connection.info.capabilities;
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = capabilities.tools.as_ref().map(|_| true);
    filter.resources_list_changed = capabilities.resources.as_ref().map(|_| true);
    filter.prompts_list_changed = capabilities.prompts.as_ref().map(|_| true);
    filter
}

/// A request that every server of this protocol era answers.
pub(crate) fn liveness_request(era: ProtocolEra) -> ClientRequest {
    match era {
        ProtocolEra::Legacy => ClientRequest::PingRequest(PingRequest::default()),
        ProtocolEra::Modern => {
            ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}))
        }
    }
}
