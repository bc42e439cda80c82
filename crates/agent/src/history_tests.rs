#![allow(clippy::unwrap_used)]

use hermes_history::NewSession;
use hermes_llm::ChatMessage;

use super::*;

#[test]
fn what_is_written_is_what_the_session_goes_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(HistoryStore::open(dir.path().join("sessions.db")).unwrap());
    let id = store.begin(&NewSession { source: "cli".into(), ..NewSession::default() }).unwrap();
    let journal = SessionJournal::new(Arc::clone(&store), id.as_str());
    let [one, two, sum] = ["one", "two", "sum"].map(ChatMessage::user);
    journal.write(JournalEntry::Message(&one)).unwrap();
    journal.write(JournalEntry::Message(&two)).unwrap();
    journal.write(JournalEntry::Compressed(&[sum.clone(), two.clone()])).unwrap();
    let info = store.reader().session(journal.session()).unwrap();
    assert_eq!(store.reader().conversation(&info).unwrap(), [sum, two]);
    store.delete(&id).unwrap();
    let error = journal.write(JournalEntry::Message(&one)).unwrap_err();
    assert!(error.to_string().contains(&id), "{error}");
}

#[test]
fn a_summary_does_not_stand_for_what_another_process_has_said() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(HistoryStore::open(dir.path().join("sessions.db")).unwrap());
    let id = store.begin(&NewSession { source: "cli".into(), ..NewSession::default() }).unwrap();
    let first = SessionJournal::new(Arc::clone(&store), id.as_str());
    let [old, mine, theirs, answer, sum, other] =
        ["old", "mine", "theirs", "answer", "sum", "other sum"].map(ChatMessage::user);
    first.write(JournalEntry::Message(&old)).unwrap();
    let before = store.reader().last_message().unwrap();
    let [mine_journal, their_journal] =
        [0, 1].map(|_| SessionJournal::resume_after(Arc::clone(&store), id.as_str(), before));
    mine_journal.write(JournalEntry::Message(&mine)).unwrap();
    their_journal.write(JournalEntry::Message(&theirs)).unwrap();
    let texts = || -> Vec<String> {
        let info = store.reader().session(&id).unwrap();
        let conversation = store.reader().conversation(&info).unwrap();
        conversation.iter().map(ChatMessage::text).collect()
    };
    mine_journal.write(JournalEntry::Compressed(&[sum, mine.clone()])).unwrap();
    assert_eq!(texts(), ["sum", "mine", "theirs"]);
    their_journal.write(JournalEntry::Message(&answer)).unwrap();
    // The other one knows nothing of the summary and of what was said there.
    their_journal.write(JournalEntry::Compressed(&[other])).unwrap();
    assert_eq!(texts(), ["other sum", "sum", "mine"]);
}
