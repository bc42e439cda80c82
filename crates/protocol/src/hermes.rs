//! The dialect of models that call tools in the middle of their prose.

use crate::blocks::{self, Blocks};
use crate::call::{self, Draft};
use crate::request::MAX_CALLS;
use crate::{ProtocolError, node, salvage, syntax};

pub(crate) use crate::blocks::has_tag;

/// Reads the calls of a text.
pub(crate) fn read(text: &str) -> Result<Vec<Draft>, ProtocolError> {
    let Blocks { bodies, mut overflow, .. } = blocks::find(text);
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

/// Adds the calls of one block; whether it holds more than can be read.
fn read_body(body: &str, drafts: &mut Vec<Draft>) -> bool {
    let body = salvage::unfence(body.trim());
    if let Ok(fields) = node::fields(body) {
        drafts.push(call::read_fields(&fields));
    } else if let Ok(items) = node::items(body)
        && !items.list.is_empty()
    {
        drafts.extend(items.list.into_iter().map(call::read));
        return items.overflow;
    } else if let Some(draft) = salvage::read_function(body) {
        drafts.push(draft);
    } else {
        drafts.push(salvage::dig(body));
    }
    false
}

#[cfg(test)]
#[path = "hermes_tests.rs"]
mod tests;
