use super::*;
use crate::reply::Reasoning;

fn reply(opaque: Vec<Value>) -> ModelReply {
    let call = |id: &str| RequestedCall { id: id.into(), ..RequestedCall::default() };
    ModelReply {
        text: "héllo".into(),
        calls: vec![call("a"), call("b")],
        reasoning: Some(Reasoning { text: String::new(), opaque }),
        ..ModelReply::default()
    }
}

#[test]
fn pieces_come_back_in_their_places() {
    let reply = reply(vec![
        wrap_opaque("x", 0, 0, json!(1)),
        wrap_opaque("y", 0, 0, json!(9)),
        wrap_opaque("x", 3, 1, json!(2)),
    ]);
    let blocks = reply_blocks(&reply, "x");
    assert!(
        matches!(
            &blocks[..],
            [ReplyBlock::Opaque(one), ReplyBlock::Text("hé"), ReplyBlock::Call(0, _), ReplyBlock::Opaque(two), ReplyBlock::Text("llo"), ReplyBlock::Call(1, _)]
                if **one == 1 && **two == 2
        ),
        "{blocks:?}"
    );
}

#[test]
fn places_that_are_not_there_any_more_do_no_harm() {
    let reply = reply(vec![
        wrap_opaque("x", 2, 99, json!(1)),
        wrap_opaque("x", 999, 0, json!(2)),
        json!({"of": "x"}),
    ]);
    let blocks = reply_blocks(&reply, "x");
    let text: String =
        blocks.iter().map(|b| if let ReplyBlock::Text(text) = b { text } else { "" }).collect();
    let calls = blocks.iter().filter(|block| matches!(block, ReplyBlock::Call(..))).count();
    assert_eq!((text.as_str(), calls), ("héllo", 2));
}
