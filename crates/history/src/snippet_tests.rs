use super::*;

fn show(text: &str, question: &str) -> String {
    snippet(text, &ParsedQuery::parse(question))
}

#[test]
fn what_is_asked_for_is_marked() {
    assert_eq!(show("We deploy to Kubernetes.", "kubernetes"), "We deploy to >>>Kubernetes<<<.");
    assert_eq!(show("Un café noir", "cafe noir"), "Un >>>café<<< >>>noir<<<");
    assert_eq!(show("我们部署集群了", "署集"), "我们部>>>署集<<<群了");
    assert_eq!(show("see my-file.rs here", "my-file.rs"), "see >>>my-file.rs<<< here");
}

#[test]
fn pieces_mark_their_word() {
    assert_eq!(show("on Kubernetes now", "bernet"), "on >>>Kubernetes<<< now");
    assert_eq!(show("to the 🚀!", "🚀"), "to the >>>🚀<<<!");
    assert_eq!(show("nothing of it", "absent"), "nothing of it");
}

#[test]
fn long_texts_are_cut_on_both_sides() {
    let text = format!("{} needle {}", "before ".repeat(500), "after ".repeat(500));
    let shown = show(&text, "needle");
    assert!(shown.starts_with("...before") && shown.ends_with("after..."), "{shown}");
    assert!(shown.contains(">>>needle<<<"));
    let blob = format!("{}針{}", "x".repeat(100_000), "y".repeat(100_000));
    let shown = show(&blob, "針");
    assert!(shown.contains(">>>針<<<") && shown.len() < 500, "{}", shown.len());
}

proptest::proptest! {
    #[test]
    fn any_text_and_question_have_a_snippet(text in "\\PC{0,300}", question in "\\PC{0,40}") {
        let shown = show(&text, &question);
        proptest::prop_assert!(shown.len() <= MAX_SNIPPET_BYTES + 400);
    }
}
