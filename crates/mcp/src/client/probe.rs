//! The question whether a server speaks the newer protocol, and what counts as
//! an answer to it.

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
    ServerResult,
};

/// Whether a message is the question.
pub(crate) fn is_probe(message: &ClientJsonRpcMessage) -> bool {
    matches!(
        message,
        JsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::DiscoverRequest(_))
    )
}

/// An answer to it. There are older servers that say yes to whatever they do
/// not know; theirs is turned into the refusal that it should have been.
pub(crate) fn normalize_response(answer: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    match answer {
        JsonRpcMessage::Response(response)
            if !matches!(response.result, ServerResult::DiscoverResult(_)) =>
        {
            let error = ErrorData::invalid_request("it answers with nothing", None);
            ServerJsonRpcMessage::error(error, Some(response.id))
        }
        other => other,
    }
}
