#![allow(clippy::unwrap_used)]

use hermes_core::ErrorKind;
use proptest::prelude::*;

use super::*;

#[test]
fn names_are_checked() {
    for name in ["A", "_", "a1_B", &"N".repeat(256)] {
        assert!(check_name(name).is_ok(), "{name}");
    }
    for name in ["", "1A", "A-B", "A=B", "A B", "Ä", "A\0", "BASH_FUNC_x%%", &"N".repeat(257)] {
        assert_eq!(check_name(name).unwrap_err().kind(), ErrorKind::InvalidArguments, "{name}");
    }
}

#[test]
fn what_loads_code_or_is_ours_is_protected() {
    for name in [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "HERMES_HOME",
        "BASH_ENV",
        "HOME",
        "ENV",
        "NODE_OPTIONS",
        "PERL5OPT",
        "PROMPT_COMMAND",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_KEY_0",
        "GIT_TRACE2_EVENT",
        "npm_config_script_shell",
        "PWD",
        "SHLVL",
    ] {
        let error = check_writable(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(error.message().contains(name) && error.message().contains("protected"));
    }
    for name in [
        "PATH",
        "MY_PATH",
        "LDFLAGS",
        "MY_LD_PRELOAD",
        "NODE_ENV",
        "GIT_AUTHOR_NAME",
        "PYTHONUNBUFFERED",
    ] {
        assert!(check_writable(name).is_ok(), "{name}");
    }
}

#[test]
fn a_folder_is_entered_and_not_set() {
    let error = check_writable("PWD").unwrap_err();
    assert!(error.hint().contains("Use cd"), "{}", error.hint());
}

#[test]
fn values_are_checked() {
    assert!(check_value("A", "").is_ok());
    assert!(check_value("A", &"x".repeat(MAX_VALUE_BYTES)).is_ok());
    assert_eq!(check_value("A", "x\0").unwrap_err().kind(), ErrorKind::InvalidArguments);
    assert_eq!(
        check_value("A", &"x".repeat(MAX_VALUE_BYTES + 1)).unwrap_err().kind(),
        ErrorKind::Limit
    );
}

#[test]
fn all_changes_together_are_bounded() {
    let mut changes = EnvOverrides::new();
    let large = "x".repeat(MAX_VALUE_BYTES);
    for n in 0..7 {
        set(&mut changes, &format!("V{n}"), &large).unwrap();
    }
    assert_eq!(set(&mut changes, "V7", &large).unwrap_err().kind(), ErrorKind::Limit);
    assert!(!changes.contains_key("V7"));
    set(&mut changes, "V6", &large).unwrap();
}

#[test]
fn filters() {
    assert!(matches_filter("path", "GOPATH"));
    assert!(matches_filter("", "ANY"));
    assert!(!matches_filter("home", "PATH"));
    assert!(matches_filter("AWS_*", "aws_region"));
    assert!(!matches_filter("AWS_*", "MY_AWS_REGION"));
    assert!(matches_filter("*_?", "A_B_C"));
    assert!(!matches_filter("?", ""));
    assert!(matches_filter("**", ""));
}

proptest! {
    #[test]
    fn a_pattern_fits_what_it_was_made_from(name in "[A-Z_]{1,12}", from in 0..6_usize, length in 0..6_usize) {
        let from = from.min(name.len());
        let to = (from + length).min(name.len());
        let pattern = format!("{}*{}", &name[..from], &name[to..]);
        prop_assert!(matches_filter(&pattern, &name), "{}", pattern);
    }

    #[test]
    fn a_long_pattern_ends(stars in 1..200_usize, letters in 0..400_usize) {
        let pattern = "*A".repeat(stars) + "B";
        prop_assert!(!matches_filter(&pattern, &"A".repeat(letters)));
    }
}
