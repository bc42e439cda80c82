//! Every tool of the family keeps the rules, and its examples work.

use hermes_testkit::contract;

use crate::ports::NEED_PORTS;

#[test]
fn every_tool_keeps_the_rules() {
    for tool in hermes_tools_agent::tools() {
        contract::check_spec(&tool);
    }
}

#[tokio::test]
async fn every_example_works() {
    for tool in hermes_tools_agent::tools() {
        if !NEED_PORTS.contains(&&*tool.spec().name) {
            contract::check_examples(&tool).await;
        }
    }
}

#[tokio::test]
async fn ports_refuse_what_was_not_declared() {
    for tool in hermes_tools_agent::tools() {
        contract::check_declared_effects(&tool).await;
    }
}
