use proptest::prelude::*;

use super::*;

#[test]
fn names_are_told_and_values_are_not() {
    let text = "\u{feff}# settings\nPORT=8080\nexport API_TOKEN='a b'\nEMPTY=\nURL = \"http://x/?a=1\"\n\
                KEY=\"-----BEGIN KEY-----\nAbC=\nDEF==\n-----END KEY-----\"\nPORT=9\nlast=1";
    let (found, skipped) = names(text);
    assert_eq!(found, ["PORT", "API_TOKEN", "EMPTY", "URL", "KEY", "last"]);
    assert_eq!(skipped, 0);
}

/// An unquoted value continues in lines that look like names.
#[test]
fn what_may_be_a_part_of_a_value_is_no_name() {
    let text = "A=1\n-----BEGIN KEY-----\nMIIEsecret=\nmore\nTail=\n\nB=2\n";
    assert_eq!(names(text), (vec!["A".to_owned(), "B".to_owned()], 4));
    let open = "A=1\nB='never closed\nSECRETPART=\n";
    assert_eq!(names(open), (vec!["A".to_owned()], 2));
    assert_eq!(names("hunter2\n12=3\n=x\n").0, Vec::<String>::new());
}

#[test]
fn files_of_variables_are_known_by_name() {
    for name in [".env", ".ENV", ".env.local", ".env_prod", ".envrc", ".env~", ".env.example"] {
        assert!(is_dotenv(&Path::new("/w").join(name)), "{name}");
    }
    for name in ["env", ".environment", "dev.env", ".bashrc", ".envs"] {
        assert!(!is_dotenv(&Path::new("/w").join(name)), "{name}");
    }
}

proptest! {
    #[test]
    fn no_value_is_told(
        entries in prop::collection::vec(("[A-Z][A-Z_]{0,8}", "[a-z0-9 =#\n\\\\]{0,30}", 0_usize..3), 0..8),
    ) {
        let quoted = |value: &str, how: usize| match how {
            0 => value.replace(['\n', '\\'], ""),
            1 => format!("\"{}\"", value.replace('\\', "\\\\")),
            _ => format!("'{value}'"),
        };
        let text: String = entries
            .iter()
            .map(|(name, value, how)| format!("{name}={}\n", quoted(value, *how)))
            .collect();
        let (found, _) = names(&text);
        prop_assert!(found.iter().all(|name| entries.iter().any(|(own, ..)| own == name)), "{text}");
    }

    #[test]
    fn any_text_can_be_read(text in "[\\PC\n='\"#]{0,200}") {
        names(&text);
    }
}
