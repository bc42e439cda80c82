use std::time::Duration;

use super::*;

#[test]
fn what_is_left_is_shared_and_a_part_is_kept() {
    let parent = AgentBudget::new(BudgetLimits {
        rounds: Some(9),
        calls: Some(100),
        tokens: Some(9_000),
        cost: Some(1.0),
        time: Some(Duration::from_secs(1_000)),
    });
    parent.spend_calls(10);
    let share = allowance_per_task(Some(&parent), 3, Some(500), &DelegationSettings::default());
    assert_eq!(share.rounds, Some(2), "a third of 9, less the one that the parent keeps");
    assert_eq!(share.calls, Some(27), "a third of 90, less a tenth");
    assert_eq!(share.tokens, Some(2_700));
    assert!((share.cost.unwrap_or_default() - 0.3).abs() < 1e-9);
    let time = share.time.unwrap_or_default();
    assert!(time > Duration::from_secs(800) && time <= Duration::from_secs(900), "{time:?}");
}

#[test]
fn an_agent_needs_what_an_answer_does_not() {
    let few = BudgetLimits { rounds: Some(2), calls: Some(1), ..BudgetLimits::default() };
    let parent = AgentBudget::new(few);
    parent.spend_round();
    assert_eq!(exhausted_resource(&parent, true), None);
    parent.spend_round();
    assert_eq!(exhausted_resource(&parent, true).as_deref(), Some("its model calls"));
    assert_eq!(exhausted_resource(&parent, false), None);
    let parent = AgentBudget::new(few);
    parent.spend_calls(1);
    assert_eq!(exhausted_resource(&parent, true).as_deref(), Some("its tool calls"));
    assert_eq!(exhausted_resource(&parent, false), None);
    for allowance in [
        BudgetLimits { tokens: Some(0), ..BudgetLimits::default() },
        BudgetLimits { cost: Some(0.0), ..BudgetLimits::default() },
        BudgetLimits { time: Some(Duration::ZERO), ..BudgetLimits::default() },
    ] {
        let empty = AgentBudget::new(allowance);
        assert!(exhausted_resource(&empty, false).is_some());
        let below = AgentBudget::new(BudgetLimits::default()).child(allowance);
        assert!(exhausted_resource(&below, true).is_some());
    }
}

#[test]
fn without_bounds_there_are_none_but_the_rounds() {
    let free = allowance_per_task(None, 2, None, &DelegationSettings::default());
    assert_eq!(free, BudgetLimits { rounds: Some(50), ..BudgetLimits::default() });
    let few = allowance_per_task(None, 2, Some(0), &DelegationSettings::default());
    assert_eq!(few.rounds, Some(1));
}

#[test]
fn tasks_that_nobody_could_begin_are_refused() {
    let task = |goal: &str| TaskRequest { goal: goal.to_owned(), ..TaskRequest::default() };
    assert!(check_tasks(&[task("a")]).is_ok());
    assert!(check_tasks(&[]).is_err());
    assert!(check_tasks(&[task("a"), task(" \n")]).is_err());
    assert!(check_tasks(&vec![task("a"); MAX_TASKS + 1]).is_err());
    assert!(check_tasks(&[task(&"a".repeat(MAX_TASK_BYTES + 1))]).is_err());
}
