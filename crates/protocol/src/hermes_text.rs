//! Reads the dialect of models that call tools within prose.

use crate::blocks::{self, CallBlocks};
use crate::call::{self, CallDraft};
use crate::request::MAX_CALLS;
use crate::{ProtocolError, json_node, salvage, syntax};

pub(crate) use crate::blocks::has_call_tag;

/// Reads the calls of a text.
pub(crate) fn read_text_calls(text: &str) -> Result<Vec<CallDraft>, ProtocolError> {
    let CallBlocks { bodies, mut overflow, .. } = blocks::find_blocks(text);
    let mut drafts = Vec::with_capacity(bodies.len());
    for body in bodies {
        overflow |= read_body(body, &mut drafts) || drafts.len() > MAX_CALLS;
        if overflow {
            break;
        }
    }
    if overflow {
        return Err(ProtocolError::TooManyCalls { limit: MAX_CALLS });
    }
    if drafts.is_empty() {
        let seen = format!("text without a <tool_call>: `{}`", syntax::excerpt(text.trim(), 0));
        return Err(ProtocolError::NoCalls { seen });
    }
    Ok(drafts)
}

/// Adds the calls of one block; returns whether it contains too many.
fn read_body(body: &str, drafts: &mut Vec<CallDraft>) -> bool {
    let body = salvage::unfence(body.trim());
    if let Ok(fields) = json_node::fields(body) {
        drafts.push(call::read_fields(&fields));
    } else if let Ok(items) = json_node::items(body)
        && !items.items.is_empty()
    {
        drafts.extend(items.items.into_iter().map(call::read_call));
        return items.overflow;
    } else if let Some(draft) = salvage::read_function(body) {
        drafts.push(draft);
    } else {
        drafts.push(salvage::salvage_call(body));
    }
    false
}

#[cfg(test)]
#[path = "hermes_text_tests.rs"]
mod tests;
