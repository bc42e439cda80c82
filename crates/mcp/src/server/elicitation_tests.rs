#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn request(call_id: &str) -> ApprovalRequest {
    ApprovalRequest {
        call_id: call_id.to_owned(),
        tool: "terminal".to_owned(),
        arguments: json!({"command": "rm -rf \u{202e}build"}),
        effects: Vec::new(),
        reason: "It deletes".to_owned(),
        rule: "delete".to_owned(),
        offered_rules: Vec::new(),
    }
}

fn accepted(content: Value) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}

#[tokio::test]
async fn what_is_put_off_is_answered_the_next_time() {
    let first = CallElicitor::deferred("call-1", HashMap::new(), false);
    assert_eq!(Approver::ask(&first, request("call-1")).await, ApprovalDecision::NoApprover);
    let open = first.pending_requests().unwrap();
    assert!(first.pending_requests().is_none(), "asked once");
    let key = open.keys().next().unwrap().clone();
    for (said, decision) in [
        ("once", ApprovalDecision::Approved(ApprovalScope::Once)),
        ("session", ApprovalDecision::Approved(ApprovalScope::Session)),
        ("no", ApprovalDecision::Refused(None)),
    ] {
        let answers = HashMap::from([(key.clone(), accepted(json!({"decision": said})))]);
        let second = CallElicitor::deferred("call-2", answers, false);
        assert_eq!(Approver::ask(&second, request("call-2")).await, decision);
        assert!(second.pending_requests().is_none());
    }
}

#[tokio::test]
async fn a_call_that_has_begun_is_not_put_off() {
    let desk = CallElicitor::deferred("call-1", HashMap::new(), false);
    assert_eq!(Approver::ask(&desk, request("inner")).await, ApprovalDecision::NoApprover);
    assert_eq!(UserPrompter::ask(&desk, "Which?", &[]).await, None);
    assert!(desk.pending_requests().is_none());
}

#[tokio::test]
async fn an_answer_to_another_question_does_not_count() {
    let answers = HashMap::from([("approval-0".to_owned(), accepted(json!({"decision": "once"})))]);
    let desk = CallElicitor::deferred("call-1", answers, false);
    assert_eq!(Approver::ask(&desk, request("call-1")).await, ApprovalDecision::NoApprover);
    assert!(desk.pending_requests().is_some());
}

#[test]
fn silence_and_half_an_answer_are_a_no() {
    assert!(matches!(parse_decision(accepted(json!({}))), ApprovalDecision::Refused(Some(_))));
    let dismissed = ElicitResult::new(ElicitationAction::Cancel);
    assert!(matches!(parse_decision(dismissed), ApprovalDecision::Refused(Some(_))));
    let declined = ElicitResult::new(ElicitationAction::Decline);
    assert_eq!(parse_decision(declined), ApprovalDecision::Refused(None));
}

#[tokio::test]
async fn own_words_come_before_a_choice() {
    let choices = ["red".to_owned(), "blue".to_owned()];
    let first = CallElicitor::deferred("call-1", HashMap::new(), true);
    assert_eq!(UserPrompter::ask(&first, "Which?", &choices).await, None);
    let key = first.pending_requests().unwrap().keys().next().unwrap().clone();
    for (content, answer) in [
        (json!({"choice": "red"}), Some("red")),
        (json!({"choice": "red", "answer": "green"}), Some("green")),
        (json!({"answer": " "}), None),
    ] {
        let answers = HashMap::from([(key.clone(), accepted(content))]);
        let second = CallElicitor::deferred("call-2", answers, true);
        assert_eq!(UserPrompter::ask(&second, "Which?", &choices).await.as_deref(), answer);
    }
}

#[tokio::test]
async fn several_questions_are_put_off_and_answered_together() {
    let first = CallElicitor::deferred("call-1", HashMap::new(), true);
    for question in ["(1/2) Which?", "(2/2) Which?"] {
        assert_eq!(UserPrompter::ask(&first, question, &[]).await, None);
    }
    let open = first.pending_requests().unwrap();
    assert_eq!(open.len(), 2);
    let answer = |key: &String| (key.clone(), accepted(json!({"answer": "red"})));
    let second = CallElicitor::deferred("call-2", open.keys().map(answer).collect(), true);
    for question in ["(1/2) Which?", "(2/2) Which?"] {
        let answer = UserPrompter::ask(&second, question, &[]).await;
        assert_eq!(answer.as_deref(), Some("red"));
    }
    assert!(second.pending_requests().is_none());
}

#[test]
fn what_is_hidden_is_shown() {
    let form = ElicitationForm::approval(&request("1"));
    assert!(form.message.contains("·build"), "{}", form.message);
    assert!(form.message.contains("It deletes"));
    assert!(form.params().is_some());
}
