use super::*;
use hermes::engine::Engine;

#[test]
fn the_table_knows_every_built_in_tool() {
    let engine = Engine::builder().tools(hermes::all_tools()).build().expect("an engine");
    let unknown: Vec<String> = engine
        .snapshot()
        .entries()
        .iter()
        .filter(|entry| lookup(&entry.definition()).is_none())
        .map(|entry| entry.name().to_owned())
        .collect();
    assert_eq!(
        unknown, [""; 0],
        "make the table again: hermes tools tokens > crates/cli/data/tokens.tsv"
    );
}

#[test]
fn a_row_of_the_table_is_what_the_table_is_read_by() {
    let row = table_row("some_tool", "{\"name\":\"some_tool\"}");
    let fields: Vec<&str> = row.split('\t').collect();
    assert_eq!(fields, ["8e1f59b2cbb4be9f", "6", "some_tool"]);
}
