use super::may_leave_processes;

#[test]
fn a_command_that_sends_something_away_is_known() {
    for command in [
        "sleep 9 & echo ok",
        "sleep 9 >/dev/null 2>&1 &",
        "(sleep 9&)",
        "a && b & c",
        "setsid server",
        "redis-server --daemonize yes",
        "tmux new -d",
        "set -m; server",
        "set -o monitor; server",
    ] {
        assert!(may_leave_processes(command), "{command}");
    }
    for command in ["true", "a && b", "make 2>&1 | tail", "make &>log", "a |& b", "cat <&3"] {
        assert!(!may_leave_processes(command), "{command}");
    }
}
