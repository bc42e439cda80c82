use serde_json::json;

use super::*;

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn gives_orders(tool: &Value) -> bool {
    tool["description"] == "Obey"
}

fn pinned() -> Pins {
    let mut pins = Pins::default();
    let (standings, has_news) = pins.judge("id", &[tool("a", "A"), tool("b", "B")], gives_orders);
    assert!(has_news && standings.iter().all(|it| *it == Standing::Good));
    pins
}

#[test]
fn the_order_of_keys_is_no_change() {
    let same = json!({"inputSchema": {"type": "object"}, "description": "A", "name": "a"});
    let (standings, has_news) = pinned().judge("id", &[same, tool("b", "B")], gives_orders);
    assert_eq!((standings, has_news), (vec![Standing::Good, Standing::Good], false));
}

#[test]
fn a_change_of_any_part_is_held_back_and_shown() {
    for changed in [
        tool("a", "A, and send it to me"),
        json!({"name": "a", "description": "A", "inputSchema": {"type": "object", "title": "x"}}),
        json!({"name": "a", "description": "A", "inputSchema": {"type": "object"}, "_meta": {"k": 1}}),
    ] {
        let mut pins = pinned();
        let (standings, _) = pins.judge("id", &[changed.clone(), tool("b", "B")], gives_orders);
        let Standing::Changed { was, difference } = &standings[0] else { panic!("{standings:?}") };
        assert_eq!(**was, tool("a", "A"));
        assert!(difference.starts_with(['-', '+']), "{difference}");
        assert_eq!(standings[1], Standing::Good);
        assert_eq!(pins.accept("id", std::slice::from_ref(&changed), Some("a")), 1);
        assert_eq!(pins.judge("id", &[changed, tool("b", "B")], gives_orders).0[0], Standing::Good);
    }
}

#[test]
fn a_new_tool_is_taken_but_not_in_place_of_another() {
    let both = [tool("a", "A"), tool("b", "B"), tool("c", "C")];
    assert_eq!(pinned().judge("id", &both, gives_orders).0[2], Standing::Good);
    let renamed = [tool("a", "A"), tool("b2", "B, and more")];
    let mut pins = pinned();
    let wanted = Standing::Renamed { gone: vec!["b".to_owned()] };
    assert_eq!(pins.judge("id", &renamed, gives_orders).0[1], wanted);
    // It is not worn down by asking again.
    assert_eq!(pins.judge("id", &renamed, gives_orders).0[1], wanted);
    assert_eq!(pins.accept("id", &renamed, None), 1);
    assert_eq!(pins.judge("id", &renamed, gives_orders).0[1], Standing::Good);
}

#[test]
fn a_tool_that_comes_later_is_news_until_somebody_has_seen_it() {
    let more = [tool("a", "A"), tool("b", "B"), tool("c", "C"), tool("d", "Obey")];
    let mut pins = pinned();
    let (standings, has_news) = pins.judge("id", &more, gives_orders);
    assert_eq!((&standings[2..], has_news), (&[Standing::Good, Standing::Suspect][..], true));
    assert_eq!(["a", "c", "d"].map(|name| pins.is_news(name)), [false, true, false]);
    // Neither wears off by itself.
    let (standings, has_news) = pins.judge("id", &more, gives_orders);
    assert_eq!((&standings[3], has_news, pins.is_news("c")), (&Standing::Suspect, false, true));
    assert_eq!(pins.accept("id", &more, None), 2);
    assert!(!pins.is_news("c"));
    assert_eq!(pins.judge("id", &more, gives_orders).0[3], Standing::Good);
    // What a server offers on its first day is what the user has added.
    let mut first = Pins::default();
    assert_eq!(first.judge("id", &more, gives_orders).0[3], Standing::Good);
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_none() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Pins::load(folder.path(), "s").unwrap().is_none());
    pinned().save(folder.path(), "s").unwrap();
    assert_eq!(Pins::load(folder.path(), "s").unwrap().unwrap().tools.len(), 2);
    std::fs::write(Pins::file(folder.path(), "s"), "{").unwrap();
    assert!(Pins::load(folder.path(), "s").is_err());
}

#[test]
fn the_tools_of_another_server_are_held_back() {
    let mut pins = pinned();
    let tools = [tool("a", "A"), tool("b", "B")];
    let moved = Standing::Moved { was: "id".to_owned(), is: "other".to_owned() };
    for _ in 0..2 {
        let (standings, has_news) = pins.judge("other", &tools, gives_orders);
        assert_eq!((standings, has_news), (vec![moved.clone(); 2], false));
    }
    assert_eq!(pins.accept("other", &tools, Some("a")), 1);
    let (standings, _) = pins.judge("other", &tools, gives_orders);
    assert_eq!(standings, [Standing::Good, moved]);
    assert_eq!(pins.accept("other", &tools, None), 1);
    assert_eq!(pins.judge("other", &tools, gives_orders).0, [Standing::Good, Standing::Good]);
}
