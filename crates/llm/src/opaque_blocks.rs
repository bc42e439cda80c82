//! Opaque blocks of a reply that the server expects back unchanged, at their
//! positions among the text and the calls.

use serde_json::{Value, json};

use crate::reply::{ModelReply, RequestedCall};

/// A block of an earlier reply, in the original order.
#[derive(Debug, PartialEq)]
pub(crate) enum ReplyBlock<'a> {
    /// Sent back unchanged.
    Opaque(&'a Value),
    /// A part of the text.
    Text(&'a str),
    /// A call and its position among the calls.
    Call(usize, &'a RequestedCall),
}

/// Wraps a block with its origin and its position.
pub(crate) fn wrap_opaque(origin: &str, text: usize, calls: usize, piece: Value) -> Value {
    json!({"of": origin, "text": text, "calls": calls, "it": piece})
}

/// Returns the opaque blocks from this origin. No other server can read them.
pub(crate) fn opaque_pieces<'a>(
    reply: &'a ModelReply,
    origin: &'a str,
) -> impl Iterator<Item = &'a Value> {
    let all = reply.reasoning.iter().flat_map(|reasoning| &reasoning.opaque);
    all.filter(move |piece| piece["of"] == origin)
}

/// Splits an earlier reply into its blocks.
pub(crate) fn reply_blocks<'a>(reply: &'a ModelReply, origin: &'a str) -> Vec<ReplyBlock<'a>> {
    let mut blocks = Vec::new();
    let mut text = 0;
    let mut calls = 0;
    let place =
        |piece: &Value, key: &str| piece[key].as_u64().and_then(|n| usize::try_from(n).ok());
    let mut go_on = |blocks: &mut Vec<ReplyBlock<'a>>, to_text: usize, to_calls: usize| {
        // Positions may be out of range if the reply was changed meanwhile.
        let end = reply.text.floor_char_boundary(to_text.max(text));
        if end > text {
            blocks.push(ReplyBlock::Text(&reply.text[text..end]));
            text = end;
        }
        while calls < to_calls.min(reply.calls.len()) {
            blocks.push(ReplyBlock::Call(calls, &reply.calls[calls]));
            calls += 1;
        }
    };
    for piece in opaque_pieces(reply, origin) {
        let before = place(piece, "text").zip(place(piece, "calls")).unwrap_or_default();
        go_on(&mut blocks, before.0, before.1);
        blocks.push(ReplyBlock::Opaque(&piece["it"]));
    }
    go_on(&mut blocks, reply.text.len(), reply.calls.len());
    blocks
}

#[cfg(test)]
#[path = "opaque_blocks_tests.rs"]
mod tests;
