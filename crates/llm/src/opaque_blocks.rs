//! Pieces of an answer that the server wants back unchanged, in their places
//! between what was said and the calls.

use serde_json::{Value, json};

use crate::reply::{ModelReply, RequestedCall};

/// A piece of an earlier answer, in the order in which it came.
#[derive(Debug, PartialEq)]
pub(crate) enum ReplyBlock<'a> {
    /// Goes back unchanged.
    Opaque(&'a Value),
    /// What was said.
    Text(&'a str),
    /// A call, and its place among the calls.
    Call(usize, &'a RequestedCall),
}

/// A piece to be kept, with who made it and what came before it.
pub(crate) fn wrap_opaque(origin: &str, text: usize, calls: usize, piece: Value) -> Value {
    json!({"of": origin, "text": text, "calls": calls, "it": piece})
}

/// The pieces of an answer that this server made. Nobody else can read them.
pub(crate) fn opaque_pieces<'a>(
    reply: &'a ModelReply,
    origin: &'a str,
) -> impl Iterator<Item = &'a Value> {
    let all = reply.reasoning.iter().flat_map(|reasoning| &reasoning.opaque);
    all.filter(move |piece| piece["of"] == origin)
}

/// An earlier answer, piece by piece.
pub(crate) fn reply_blocks<'a>(reply: &'a ModelReply, origin: &'a str) -> Vec<ReplyBlock<'a>> {
    let mut blocks = Vec::new();
    let mut text = 0;
    let mut calls = 0;
    let place =
        |piece: &Value, key: &str| piece[key].as_u64().and_then(|n| usize::try_from(n).ok());
    let mut go_on = |blocks: &mut Vec<ReplyBlock<'a>>, to_text: usize, to_calls: usize| {
        // An answer that was changed meanwhile has other places.
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
