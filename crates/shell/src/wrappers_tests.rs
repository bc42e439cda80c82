use crate::FindingLevel;
use crate::corpus_tests::{findings, has_effect, look};

#[test]
fn env_keeps_every_word_after_a_split_string() {
    for source in [
        "env \"-Srm -rf\" /",
        "env -S 'rm -rf' /",
        "env '--split-string=rm -rf' /",
        "env --split-string 'rm -rf' /",
        "env --split 'rm -rf' /",
        "env -iS 'rm -rf' /",
        "env -u A -vS 'rm -rf' /",
        "genv -S 'rm -rf' /",
        "env -S 'A=1 rm -rf' /",
        "env -S '-i rm -rf' /",
        "env -S 'rm\\_-rf\\_/'",
        "env -S '\"rm\" -rf' /",
        "env -S 'sh -c' 'rm -rf /'",
        "env -S 'bash -c \"rm -rf /\"'",
        "env -S 'echo a' ';' rm; env -S 'rm -rf' /",
    ] {
        assert_eq!(look(source).level(), Some(FindingLevel::Block), "{source}");
    }
}

#[test]
fn an_option_of_the_command_is_no_split_string_of_env() {
    for source in ["env rm -rf / -S ls", "env A=1 rm -rf / -S ls", "env - rm -rf /"] {
        assert_eq!(look(source).level(), Some(FindingLevel::Block), "{source}");
    }
    assert_eq!(findings("env LC_ALL=C sort -S 50% f"), Vec::<String>::new());
    assert!(has_effect("env LC_ALL=C sort -S 50% f", "file:read /home/user/project/f"));
}

#[test]
fn a_split_string_with_a_variable_is_only_known_at_run_time() {
    for source in ["env -S 'rm ${X}'", "env -S '${X} a'", "env -S \"$X\" a", "env -S 'a \\q'"] {
        assert_eq!(look(source).level(), Some(FindingLevel::Ask), "{source}");
    }
}

#[test]
fn the_command_of_bwrap_starts_after_its_last_option() {
    for source in [
        "bwrap --unshare-all rm -rf /",
        "bwrap --ro-bind / / rm -rf /",
        "bwrap --ro-bind / / --unshare-net rm -rf /",
        "bwrap --dev /dev rm -rf --no-preserve-root /",
        "bwrap --dev /dev rm -rf -- /",
        "bwrap --setenv A -- rm -rf /",
        "bwrap rm -rf /",
        "bwrap --overlay a b c --chdir / rm -rf /",
        "bwrap $OPTIONS -- rm -rf /",
        "bwrap --some-new-option x -- rm -rf /",
        "bwrap --bind / / -- rm -rf /",
    ] {
        assert_eq!(look(source).level(), Some(FindingLevel::Block), "{source}");
    }
    assert!(has_effect("bwrap --unshare-all rm x", "file:delete /home/user/project/x"));
    assert!(!findings("bwrap --unshare-all ls").is_empty());
}

#[test]
fn a_daemon_is_started_by_a_short_option_too() {
    for source in [
        "start-stop-daemon -S -x /bin/rm -- -rf /",
        "start-stop-daemon --start --exec /bin/rm -- -rf /",
        "start-stop-daemon -S --exec /bin/ls --startas /bin/rm -- -rf /",
        "start-stop-daemon -S -x /bin/ls -a /bin/rm -- -rf /",
    ] {
        assert_eq!(look(source).level(), Some(FindingLevel::Block), "{source}");
    }
}
