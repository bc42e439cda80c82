use crate::corpus_tests::{findings, look};

#[test]
fn only_a_vacuum_deletes_system_logs() {
    for source in ["journalctl --vacuum-size=1M", "journalctl --rotate --vacuum-time=1s"] {
        assert_eq!(findings(source), ["Ask data-loss"], "{source}");
    }
    let source = "journalctl --rotate";
    assert_eq!(findings(source), Vec::<String>::new());
    assert!(look(source).leaves.iter().all(|leaf| !leaf.reads_only));
}
