use super::*;

#[test]
fn the_cycle_leads_through_every_mode_but_automatic_approval() {
    let mut mode = AgentMode::Auto;
    for expected in [AgentMode::Ask, AgentMode::Plan, AgentMode::Auto] {
        mode = mode.next();
        assert_eq!(mode, expected);
    }
    assert_eq!(AgentMode::Yolo.next(), AgentMode::Auto);
}

#[test]
fn a_mode_is_known_by_its_name_and_automatic_approval_has_its_own_command() {
    for mode in AgentMode::CYCLED_MODES {
        assert_eq!(AgentMode::parse(mode.name()).ok(), Some(mode));
        assert_eq!(ModeFlags::for_mode(mode).chosen(), Some(mode));
    }
    assert_eq!(ModeFlags::for_mode(AgentMode::Yolo).chosen(), Some(AgentMode::Yolo));
    assert_eq!(ModeFlags::default().chosen(), None);
    let hint = AgentMode::parse("yolo").err().and_then(|failure| failure.hint);
    assert!(hint.is_some_and(|hint| hint.contains("/yolo")));
}

#[test]
fn only_automatic_approval_lets_questions_through() {
    let configured = [ApprovalMode::Manual, ApprovalMode::Smart, ApprovalMode::Off];
    for before in configured {
        assert_eq!(AgentMode::Yolo.approvals(before), ApprovalMode::Off);
        assert_eq!(AgentMode::Ask.approvals(before), ApprovalMode::Manual);
        assert_ne!(AgentMode::Auto.approvals(before), ApprovalMode::Off);
        assert_ne!(AgentMode::Plan.approvals(before), ApprovalMode::Off);
    }
    assert_eq!(AgentMode::Auto.approvals(ApprovalMode::Smart), ApprovalMode::Smart);
}

#[test]
fn the_model_is_told_of_plan_mode_once_and_only_there() {
    let mut system = "You are Hermes.".to_owned();
    AgentMode::Plan.instruct(&mut system);
    AgentMode::Plan.instruct(&mut system);
    assert_eq!(system.matches("Plan mode is on").count(), 1, "{system}");
    AgentMode::Ask.instruct(&mut system);
    assert_eq!(system, "You are Hermes.");
}
