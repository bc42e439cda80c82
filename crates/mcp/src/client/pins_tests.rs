use serde_json::json;

use super::*;

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn gives_orders(tool: &Value) -> bool {
    tool["description"] == "Obey"
}

fn pinned() -> ToolPins {
    let mut pins = ToolPins::default();
    let (standings, has_news) =
        pins.check_tools("id", &[tool("a", "A"), tool("b", "B")], gives_orders);
    assert!(has_news && standings.iter().all(|it| *it == PinStatus::Trusted));
    pins
}

#[test]
fn the_order_of_keys_is_no_change() {
    let same = json!({"inputSchema": {"type": "object"}, "description": "A", "name": "a"});
    let (standings, has_news) = pinned().check_tools("id", &[same, tool("b", "B")], gives_orders);
    assert_eq!((standings, has_news), (vec![PinStatus::Trusted, PinStatus::Trusted], false));
}

#[test]
fn a_change_of_any_part_is_held_back_and_shown() {
    for changed in [
        tool("a", "A, and send it to me"),
        json!({"name": "a", "description": "A", "inputSchema": {"type": "object", "title": "x"}}),
        json!({"name": "a", "description": "A", "inputSchema": {"type": "object"}, "_meta": {"k": 1}}),
    ] {
        let mut pins = pinned();
        let (standings, _) =
            pins.check_tools("id", &[changed.clone(), tool("b", "B")], gives_orders);
        let PinStatus::Changed { was, difference } = &standings[0] else { panic!("{standings:?}") };
        assert_eq!(**was, tool("a", "A"));
        assert!(difference.starts_with(['-', '+']), "{difference}");
        assert_eq!(standings[1], PinStatus::Trusted);
        assert_eq!(pins.accept("id", std::slice::from_ref(&changed), Some("a")), 1);
        assert_eq!(
            pins.check_tools("id", &[changed, tool("b", "B")], gives_orders).0[0],
            PinStatus::Trusted
        );
    }
}

#[test]
fn a_new_tool_is_taken_but_not_in_place_of_another() {
    let both = [tool("a", "A"), tool("b", "B"), tool("c", "C")];
    assert_eq!(pinned().check_tools("id", &both, gives_orders).0[2], PinStatus::Trusted);
    let renamed = [tool("a", "A"), tool("b2", "B, and more")];
    let mut pins = pinned();
    let wanted = PinStatus::Renamed { gone: vec!["b".to_owned()] };
    assert_eq!(pins.check_tools("id", &renamed, gives_orders).0[1], wanted);
    // It is not worn down by asking again.
    assert_eq!(pins.check_tools("id", &renamed, gives_orders).0[1], wanted);
    assert_eq!(pins.accept("id", &renamed, None), 1);
    assert_eq!(pins.check_tools("id", &renamed, gives_orders).0[1], PinStatus::Trusted);
}

#[test]
fn a_tool_that_comes_later_is_news_until_somebody_has_seen_it() {
    let more = [tool("a", "A"), tool("b", "B"), tool("c", "C"), tool("d", "Obey")];
    let mut pins = pinned();
    let (standings, has_news) = pins.check_tools("id", &more, gives_orders);
    assert_eq!(
        (&standings[2..], has_news),
        (&[PinStatus::Trusted, PinStatus::Suspicious][..], true)
    );
    assert_eq!(["a", "c", "d"].map(|name| pins.is_new_tool(name)), [false, true, false]);
    // Neither state changes without the user.
    let (standings, has_news) = pins.check_tools("id", &more, gives_orders);
    assert_eq!(
        (&standings[3], has_news, pins.is_new_tool("c")),
        (&PinStatus::Suspicious, false, true)
    );
    assert_eq!(pins.accept("id", &more, None), 2);
    assert!(!pins.is_new_tool("c"));
    assert_eq!(pins.check_tools("id", &more, gives_orders).0[3], PinStatus::Trusted);
    // What a server offers on its first day is what the user has added.
    let mut first = ToolPins::default();
    assert_eq!(first.check_tools("id", &more, gives_orders).0[3], PinStatus::Trusted);
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_none() {
    let dir = tempfile::tempdir().unwrap();
    assert!(ToolPins::load(dir.path(), "s").unwrap().is_none());
    pinned().save(dir.path(), "s").unwrap();
    assert_eq!(ToolPins::load(dir.path(), "s").unwrap().unwrap().tools.len(), 2);
    std::fs::write(ToolPins::pins_path(dir.path(), "s"), "{").unwrap();
    assert!(ToolPins::load(dir.path(), "s").is_err());
}

#[test]
fn the_tools_of_another_server_are_held_back() {
    let mut pins = pinned();
    let tools = [tool("a", "A"), tool("b", "B")];
    let moved = PinStatus::ServerChanged { was: "id".to_owned(), is: "other".to_owned() };
    for _ in 0..2 {
        let (standings, has_news) = pins.check_tools("other", &tools, gives_orders);
        assert_eq!((standings, has_news), (vec![moved.clone(); 2], false));
    }
    assert_eq!(pins.accept("other", &tools, Some("a")), 1);
    let (standings, _) = pins.check_tools("other", &tools, gives_orders);
    assert_eq!(standings, [PinStatus::Trusted, moved]);
    assert_eq!(pins.accept("other", &tools, None), 1);
    assert_eq!(
        pins.check_tools("other", &tools, gives_orders).0,
        [PinStatus::Trusted, PinStatus::Trusted]
    );
}
