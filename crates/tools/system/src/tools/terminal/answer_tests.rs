use super::is_reported_by_bash;

#[test]
fn what_bash_says_of_a_signal_is_known() {
    assert!(is_reported_by_bash(11, "a\nbash: line 1:   123 Segmentation fault      ./segv\n"));
    assert!(is_reported_by_bash(11, "bash: line 12: 7 Segmentation fault (core dumped) ./segv"));
    assert!(is_reported_by_bash(9, "./run.sh: line 3: 41 Killed                  sleep 9\n"));
    for (signal, output) in [
        (11, ""),
        (11, "Segmentation fault"),
        (9, "bash: line 1:   123 Segmentation fault      ./segv"),
        (11, "bash: line 1:   123 Segmentation fault      ./segv\nmore"),
        (11, "bash: line 1: Segmentation fault: command not found"),
    ] {
        assert!(!is_reported_by_bash(signal, output), "{output}");
    }
}
