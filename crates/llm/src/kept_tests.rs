use super::*;
use crate::reply::Reasoning;

fn reply(opaque: Vec<Value>) -> Reply {
    let call = |id: &str| Asked { id: id.into(), ..Asked::default() };
    Reply {
        text: "héllo".into(),
        calls: vec![call("a"), call("b")],
        reasoning: Some(Reasoning { text: String::new(), opaque }),
        ..Reply::default()
    }
}

#[test]
fn pieces_come_back_in_their_places() {
    let reply = reply(vec![
        keep("x", 0, 0, json!(1)),
        keep("y", 0, 0, json!(9)),
        keep("x", 3, 1, json!(2)),
    ]);
    let blocks = blocks(&reply, "x");
    assert!(
        matches!(
            &blocks[..],
            [Block::Kept(one), Block::Text("hé"), Block::Call(0, _), Block::Kept(two), Block::Text("llo"), Block::Call(1, _)]
                if **one == 1 && **two == 2
        ),
        "{blocks:?}"
    );
}

#[test]
fn places_that_are_not_there_any_more_do_no_harm() {
    let reply =
        reply(vec![keep("x", 2, 99, json!(1)), keep("x", 999, 0, json!(2)), json!({"of": "x"})]);
    let blocks = blocks(&reply, "x");
    let text: String =
        blocks.iter().map(|b| if let Block::Text(text) = b { text } else { "" }).collect();
    let calls = blocks.iter().filter(|block| matches!(block, Block::Call(..))).count();
    assert_eq!((text.as_str(), calls), ("héllo", 2));
}
