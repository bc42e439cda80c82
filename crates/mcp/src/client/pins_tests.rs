use serde_json::json;

use super::*;

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn pinned() -> Pins {
    let mut pins = Pins::default();
    let (standings, has_news) = pins.judge("id", &[tool("a", "A"), tool("b", "B")]);
    assert!(has_news && standings.iter().all(|it| *it == Standing::Good));
    pins
}

#[test]
fn the_order_of_keys_is_no_change() {
    let same = json!({"inputSchema": {"type": "object"}, "description": "A", "name": "a"});
    let (standings, has_news) = pinned().judge("id", &[same, tool("b", "B")]);
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
        let (standings, _) = pins.judge("id", &[changed.clone(), tool("b", "B")]);
        let Standing::Changed { was, difference } = &standings[0] else { panic!("{standings:?}") };
        assert_eq!(**was, tool("a", "A"));
        assert!(difference.starts_with(['-', '+']), "{difference}");
        assert_eq!(standings[1], Standing::Good);
        assert_eq!(pins.accept(std::slice::from_ref(&changed), Some("a")), 1);
        assert_eq!(pins.judge("id", &[changed, tool("b", "B")]).0[0], Standing::Good);
    }
}

#[test]
fn a_new_tool_is_taken_but_not_in_place_of_another() {
    let both = [tool("a", "A"), tool("b", "B"), tool("c", "C")];
    assert_eq!(pinned().judge("id", &both).0[2], Standing::Good);
    let renamed = [tool("a", "A"), tool("b2", "B, and more")];
    let mut pins = pinned();
    let wanted = Standing::Renamed { gone: vec!["b".to_owned()] };
    assert_eq!(pins.judge("id", &renamed).0[1], wanted);
    // It is not worn down by asking again.
    assert_eq!(pins.judge("id", &renamed).0[1], wanted);
    assert_eq!(pins.accept(&renamed, None), 1);
    assert_eq!(pins.judge("id", &renamed).0[1], Standing::Good);
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
