use serde_json::json;

use super::*;

fn tool(name: &str, length: usize) -> Value {
    json!({"name": name, "description": "x".repeat(length), "inputSchema": {"type": "object"}})
}

fn empty() -> ServerCatalogue {
    ServerCatalogue {
        version: CACHE_VERSION,
        era: ProtocolEra::Legacy,
        protocol: String::new(),
        program: None,
        resources: false,
        prompts: false,
        tools: Vec::new(),
        problems: Vec::new(),
        usable: BTreeMap::new(),
        notes: Vec::new(),
    }
}

#[test]
fn more_tools_than_can_be_taken_are_told_of() {
    let mut catalogue = empty();
    let (mut known, mut room) = (HashSet::new(), MAX_TOTAL_BYTES);
    let took = |number: &usize| {
        catalogue.try_add_tool(tool(&number.to_string(), 1), &mut known, &mut room)
    };
    assert_eq!((0..MAX_TOOLS + 3).filter(took).count(), MAX_TOOLS);
    catalogue.report_omitted(3, false);
    assert!(catalogue.problems[0].starts_with("3 more tools are omitted"));
}

#[test]
fn it_is_told_which_bound_leaves_tools_out() {
    let mut catalogue = empty();
    let (mut known, mut room) = (HashSet::new(), MAX_TOTAL_BYTES);
    catalogue.try_add_tool(tool("only", 1), &mut known, &mut room);
    catalogue.report_omitted(0, true);
    assert!(catalogue.problems[0].ends_with("at most 200 pages are read"), "{catalogue:?}");
}

#[test]
fn a_tool_whose_parameters_cannot_all_be_read_is_taken_and_noted() {
    let mut catalogue = empty();
    let (mut known, mut room) = (HashSet::new(), MAX_TOTAL_BYTES);
    let torn = json!({"name": "torn", "inputSchema": {"type": "object", "properties": {
        "a": {"type": "string", "pattern": "["}, "b": {"type": "integer"}}}});
    catalogue.try_add_tool(torn.clone(), &mut known, &mut room);
    catalogue.try_add_tool(tool("good", 1), &mut known, &mut room);
    // The definition is stored unchanged, because it is pinned.
    assert_eq!(catalogue.tools[0]["inputSchema"], torn["inputSchema"]);
    let usable = json!({"a": {"type": "string"}, "b": {"type": "integer"}});
    assert_eq!(catalogue.usable["torn"]["properties"], usable);
    assert_eq!((catalogue.usable.len(), catalogue.problems.len()), (1, 0));
    assert!(catalogue.notes[0].contains("$.properties.a.pattern"), "{:?}", catalogue.notes);
}

#[test]
fn what_is_taken_of_a_server_is_bounded() {
    let mut catalogue = empty();
    let (mut known, mut room) = (HashSet::new(), MAX_TOTAL_BYTES);
    catalogue.try_add_tool(tool("endless", MAX_DEFINITION_BYTES), &mut known, &mut room);
    assert_eq!((catalogue.tools.len(), room), (0, MAX_TOTAL_BYTES));
    room = 1_000;
    for name in ["first", "second", "third"] {
        catalogue.try_add_tool(tool(name, 300), &mut known, &mut room);
    }
    catalogue.try_add_tool(tool("first", 1), &mut known, &mut room);
    let names: Vec<&str> = catalogue.tools.iter().map(crate::client::pins::tool_name).collect();
    assert_eq!(names, ["first", "second"]);
    let problems = catalogue.problems.join("\n");
    for omitted in ["'endless' is omitted", "'third' is omitted", "duplicate tool named 'first'"] {
        assert!(problems.contains(omitted), "{problems}");
    }
}

#[test]
fn a_tool_of_the_server_takes_no_way_to_its_resources() {
    use crate::client::protocol_tools::ProtocolTool;
    let settings =
        crate::client::settings::ServerSettings::read(&json!({"command": "x"}), &|_| None);
    let filter = settings.unwrap().tools;
    let mut catalogue = ServerCatalogue { resources: true, ..empty() };
    let names = |it: &ServerCatalogue| {
        ProtocolTool::for_server(it, &filter).into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(&catalogue), ["list_resources", "read_resource"]);
    catalogue.tools.push(tool("list_resources", 1));
    assert_eq!(names(&catalogue), ["resources_list", "read_resource"]);
}
