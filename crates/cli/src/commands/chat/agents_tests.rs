use super::*;

#[test]
fn sub_agents_are_listed_stopped_and_steered() {
    let order = |line: &'static str| arguments(line).map(|rest| AgentsOrder::parse(rest).ok());
    assert_eq!(order("/agents"), Some(Some(AgentsOrder::List)));
    assert_eq!(order(" /agents  stop deleg_1/0 "), Some(Some(AgentsOrder::Stop("deleg_1/0"))));
    let steer = AgentsOrder::Steer("deleg_1", "leave out  the tests");
    assert_eq!(order("/agents deleg_1 leave out  the tests"), Some(Some(steer)));
    for incomplete in ["/agents stop", "/agents deleg_1"] {
        assert_eq!(order(incomplete), Some(None), "{incomplete}");
    }
    assert_eq!(order("/agentsx"), None);
    assert_eq!(order("agents"), None);
}
