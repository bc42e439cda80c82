use serde_json::json;

use super::*;

fn tool(name: &str, length: usize) -> Value {
    json!({"name": name, "description": "x".repeat(length), "inputSchema": {"type": "object"}})
}

#[test]
fn what_is_taken_of_a_server_is_bounded() {
    let mut catalogue = Catalogue {
        version: VERSION,
        era: Era::Legacy,
        protocol: String::new(),
        program: None,
        resources: false,
        prompts: false,
        tools: Vec::new(),
        problems: Vec::new(),
    };
    let (mut known, mut room) = (HashSet::new(), LONGEST_TOGETHER);
    catalogue.add(tool("endless", LONGEST), &mut known, &mut room);
    assert_eq!((catalogue.tools.len(), room), (0, LONGEST_TOGETHER));
    room = 1_000;
    for name in ["first", "second", "third"] {
        catalogue.add(tool(name, 300), &mut known, &mut room);
    }
    catalogue.add(tool("first", 1), &mut known, &mut room);
    let names: Vec<&str> = catalogue.tools.iter().map(crate::client::pins::name_of).collect();
    assert_eq!(names, ["first", "second"]);
    let problems = catalogue.problems.join("\n");
    for left_out in ["'endless' is left out", "'third' is left out", "second tool named 'first'"] {
        assert!(problems.contains(left_out), "{problems}");
    }
}
