//! News of a server's lists. Those who speak the newer way tell them only to
//! who has asked for it.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, DiscoverRequest, DiscoverRequestParams, PingRequest, SubscriptionFilter,
};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::connection::{McpConnection, ProtocolEra};

/// How often it is asked for again when it breaks off.
const MAX_ATTEMPTS: u32 = 5;

/// Asks for news, where that is needed, for as long as the answer is kept.
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
                // It has no news to tell, or does not know how.
                return;
            };
            // Something may have happened while nobody listened.
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

/// A request that every server of that kind answers.
pub(crate) fn liveness_request(era: ProtocolEra) -> ClientRequest {
    match era {
        ProtocolEra::Legacy => ClientRequest::PingRequest(PingRequest::default()),
        ProtocolEra::Modern => {
            ClientRequest::DiscoverRequest(DiscoverRequest::new(DiscoverRequestParams {}))
        }
    }
}
