//! Every tool of the family keeps the rules, and its examples work.

use hermes_testkit::contract;

#[test]
fn every_tool_keeps_the_rules() {
    for tool in hermes_tools_code::tools() {
        contract::check_spec(&tool);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_works() {
    for tool in hermes_tools_code::tools() {
        contract::check_examples(&tool).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ports_refuse_what_was_not_declared() {
    for tool in hermes_tools_code::tools() {
        contract::check_declared_effects(&tool).await;
    }
}
