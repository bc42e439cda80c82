//! The probe whether a server speaks the modern protocol, and its responses.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
    ServerResult,
};

/// Whether a message is the probe.
pub(crate) fn is_probe(message: &ClientJsonRpcMessage) -> bool {
    matches!(
        message,
        JsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::DiscoverRequest(_))
    )
}

/// Normalizes a response to the probe. Some older servers answer unknown
/// requests with an empty result; that becomes the error it should have been.
pub(crate) fn normalize_response(answer: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    match answer {
        JsonRpcMessage::Response(response)
            if !matches!(response.result, ServerResult::DiscoverResult(_)) =>
        {
            let error = ErrorData::invalid_request("the response is not a discover result", None);
            ServerJsonRpcMessage::error(error, Some(response.id))
        }
        other => other,
    }
}
