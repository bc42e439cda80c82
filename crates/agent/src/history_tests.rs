#![allow(clippy::unwrap_used)]

use hermes_history::Beginning;
use hermes_llm::Message;

use super::*;

#[test]
fn what_is_written_is_what_the_session_goes_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(folder.path().join("sessions.db")).unwrap());
    let id = store.begin(&Beginning { source: "cli".into(), ..Beginning::default() }).unwrap();
    let journal = SessionJournal::new(Arc::clone(&store), id.as_str());
    let [one, two, sum] = ["one", "two", "sum"].map(Message::user);
    journal.write(Entry::Message(&one)).unwrap();
    journal.write(Entry::Message(&two)).unwrap();
    journal.write(Entry::Compressed(&[sum.clone(), two.clone()])).unwrap();
    let info = store.reader().session(journal.session()).unwrap();
    assert_eq!(store.reader().conversation(&info).unwrap(), [sum, two]);
    store.delete(&id).unwrap();
    let error = journal.write(Entry::Message(&one)).unwrap_err();
    assert!(error.to_string().contains(&id), "{error}");
}
