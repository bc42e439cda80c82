use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

fn knowing(secrets: &[(&str, &str)]) -> Redactor {
    Redactor::new(secrets.iter().copied()).expect("few secrets")
}

#[test]
fn a_known_value_is_named_in_every_form() {
    let value = "p@ss/wörd \"1\"";
    let redactor = knowing(&[("DB", value)]);
    for (text, clean) in [
        (format!("<{value}>"), "<[secret:DB]>"),
        (format!("<{}>", serde_json::to_string(value).expect("JSON")), "<\"[secret:DB]\">"),
        ("<p%40ss%2Fw%C3%B6rd%20%221%22>".to_owned(), "<[secret:DB]>"),
        ("<p%40ss%2fw%c3%b6rd+%221%22>".to_owned(), "<[secret:DB]>"),
        (format!("<{}>", STANDARD.encode(value)), "<[secret:DB]>"),
        (format!("<{}>", STANDARD_NO_PAD.encode(value)), "<[secret:DB]>"),
        (format!("<{}>", URL_SAFE.encode(value)), "<[secret:DB]>"),
        ("<704073732f77c3b6726420223122>".to_owned(), "<[secret:DB]>"),
        ("<704073732F77C3B6726420223122>".to_owned(), "<[secret:DB]>"),
        (format!("{value}{value}"), "[secret:DB][secret:DB]"),
    ] {
        assert_eq!(redactor.redact(&text), clean, "{text}");
    }
}

#[test]
fn base64_of_more_than_the_value_loses_only_the_value() {
    let redactor = knowing(&[("DB", "hunter22!")]);
    for before in ["", "a", "ab", "user:"] {
        let text = STANDARD.encode(format!("{before}hunter22!, and what follows"));
        let clean = redactor.redact(&text);
        assert!(clean.contains("[secret:DB]"), "{before}: {clean}");
        assert!(clean.ends_with(&text[text.len() - 16..]), "{before}: {clean}");
    }
}

#[test]
fn a_clean_text_is_not_copied() {
    let redactor = knowing(&[("DB", "hunter22!")]);
    assert!(matches!(redactor.redact("nothing here"), Cow::Borrowed("nothing here")));
    assert!(matches!(Redactor::default().redact("risk-free https://a.b/c"), Cow::Borrowed(_)));
    assert!(!redactor.contains_secret(""));
}

#[test]
fn ordinary_values_are_left_and_told() {
    let redactor = knowing(&[("FLAG", "true"), ("MODE", "production"), ("KEY", "k3y-value")]);
    let text = "true production";
    assert_eq!(redactor.redact(text), text);
    assert_eq!(redactor.unprotected_names(), ["FLAG", "MODE"]);
    assert_eq!(redactor.redact("k3y-value"), "[secret:KEY]");
}

#[test]
fn secrets_that_overlap_both_go() {
    let redactor = knowing(&[("A", "hunter-22x"), ("B", "22xsecrets"), ("C", "hunter-22xs")]);
    assert_eq!(redactor.redact("<hunter-22xsecrets>"), "<[secret:A]>");
    assert_eq!(redactor.redact("<hunter-22x>"), "<[secret:A]>");
}

#[test]
fn a_known_token_is_named_rather_than_its_kind() {
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let redactor = knowing(&[("GH", token)]);
    assert_eq!(redactor.redact(&format!("use {token}!")), "use [secret:GH]!");
    assert_eq!(Redactor::default().redact(token), "[redacted:github-token]");
}

#[test]
fn line_breaks_around_a_value_do_not_hide_it() {
    let redactor = knowing(&[("A", "  hunter22!\n")]);
    assert_eq!(redactor.redact("x hunter22! y"), "x [secret:A] y");
}

#[test]
fn lines_of_a_secret_document_go_with_whatever_stands_before_them() {
    let document = "{\n  \"type\": \"account\",\n  \"blob\": \"kX9vQ2mZ7pLr4TwYb8Nc\"\n}\n";
    let redactor = knowing(&[("SA", document)]);
    for (shown, wanted) in [
        ("2|  \"type\": \"account\",\n", "2|  \"type\": \"account\",\n"),
        ("3|  \"blob\": \"kX9vQ2mZ7pLr4TwYb8Nc\"\n", "3|  \"blob\": \"[secret:SA]\"\n"),
        ("+  \"blob\": \"kX9vQ2mZ7pLr4TwYb8Nc\"\n", "+  \"blob\": \"[secret:SA]\"\n"),
    ] {
        assert_eq!(redactor.redact(shown), wanted);
    }
}

#[test]
fn each_line_of_a_private_key_goes() {
    let lines = [
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
        "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu",
        "NMoSfm76oqFvAp8Gy0iz5sxj",
    ];
    let key =
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"));
    let escaped = key.replace('\n', "\\n");
    for value in [key.as_str(), escaped.as_str()] {
        let redactor = knowing(&[("PEM", value)]);
        for line in lines {
            assert_eq!(redactor.redact(&format!("  {line}\r\n")), "  [secret:PEM]\r\n");
        }
        assert_eq!(redactor.redact(value.trim()), "[secret:PEM]");
        // The frame alone is no secret.
        assert_eq!(redactor.redact("-----END PRIVATE KEY-----"), "-----END PRIVATE KEY-----");
    }
}

#[test]
fn a_label_never_shows_the_value() {
    let redactor =
        knowing(&[("hunter22", "hunter22"), ("a b\n", "other-value1"), ("", "third-value2")]);
    assert_eq!(redactor.redact("hunter22"), "[secret]");
    assert_eq!(redactor.redact("other-value1"), "[secret:a_b_]");
    assert_eq!(redactor.redact("third-value2"), "[secret]");
}

#[test]
fn values_that_read_like_labels_come_to_an_end() {
    let redactor =
        knowing(&[("A", "[secret"), ("B", "secret:A]"), ("C", "redacted:"), ("D", "]]x]]x")]);
    for text in ["[secret", "secret:A]", "[secret:A]", "redacted:[secret", "[secret]x]]x]]x"] {
        let once = redactor.redact(text).into_owned();
        assert_eq!(redactor.redact(&once), once, "{text}");
        for value in ["[secret", "secret:A]", "redacted:"] {
            assert!(!once.contains(value), "{text}: {once}");
        }
    }
}

#[test]
fn many_secrets_are_found_as_well() {
    let secrets: Vec<(String, String)> =
        (0..400).map(|n| (format!("S{n}"), format!("value-{n:04}-{}", n * 7919))).collect();
    let redactor = Redactor::new(secrets.clone()).expect("not too many");
    for (name, value) in secrets {
        assert_eq!(redactor.redact(&value), format!("[secret:{name}]"));
    }
}

#[test]
fn nothing_of_a_redactor_shows_a_value() {
    let redactor = knowing(&[("A", "hunter22!")]);
    assert!(!format!("{redactor:?}").contains("hunter22"));
}

fn listed_forms(value: &str) -> Vec<String> {
    let json = serde_json::to_string(value).expect("a string");
    let percent = |upper: bool| -> String {
        let byte = |b: u8| match b {
            b if b.is_ascii_alphanumeric() || b"-_.~".contains(&b) => char::from(b).to_string(),
            b if upper => format!("%{b:02X}"),
            b => format!("%{b:02x}"),
        };
        value.bytes().map(byte).collect()
    };
    let hex: String = value.bytes().map(|b| format!("{b:02x}")).collect();
    vec![
        value.to_owned(),
        json[1..json.len() - 1].to_owned(),
        percent(true),
        percent(false),
        percent(true).replace("%20", "+"),
        STANDARD.encode(value),
        STANDARD_NO_PAD.encode(value),
        URL_SAFE.encode(value),
        URL_SAFE_NO_PAD.encode(value),
        hex.to_uppercase(),
        hex,
    ]
}

fn secret_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9_-]{6,48}",
        "[ -~]{6,40}",
        "\\PC{6,24}",
        "[A-Za-z0-9+/]{20,40}\n[A-Za-z0-9+/]{20,40}",
        "ghp_[A-Za-z0-9]{36}",
    ]
    .prop_filter("ordinary", |value| !is_common_value(value.trim()) && value.trim() == value)
}

proptest! {
    #[test]
    fn no_form_of_a_secret_is_left(
        value in secret_value(),
        other in secret_value(),
        around in proptest::collection::vec("\\PC{0,12}", 12),
        bytes in proptest::collection::vec(any::<u8>(), 0..9),
    ) {
        let redactor = knowing(&[("ONE", &value), ("TWO", &other)]);
        let mut text = String::new();
        for (form, gap) in listed_forms(&value).iter().zip(&around) {
            text.push_str(gap);
            text.push_str(form);
        }
        text.push_str(&other);
        text.push(' ');
        for start in 0..3.min(bytes.len()) {
            let mut longer = bytes[start..].to_vec();
            longer.extend(value.bytes());
            longer.extend(&bytes);
            text.push_str(&STANDARD.encode(&longer));
            text.push(' ');
        }
        let clean = redactor.redact(&text).into_owned();
        for secret in [&value, &other] {
            for form in listed_forms(secret) {
                prop_assert!(!clean.contains(&form), "{} in {}", form, clean);
            }
        }
        for needle in all_forms(&value) {
            prop_assert!(!clean.contains(&needle.text), "{} in {}", needle.text, clean);
        }
        prop_assert_eq!(redactor.redact(&clean), clean.as_str());
    }

    #[test]
    fn a_second_time_changes_nothing(
        parts in proptest::collection::vec(
            "sk-|ghp_|eyJ|\\.|://|@|:|Bearer |Basic |authorization|=|\\?|&|token=|password=|x-api-key|AKIA|\
             -----BEGIN PRIVATE KEY-----|-----END |\"|\\\\n|\\[secret:A\\]|\\[redacted:jwt\\]|hunter22|\
             [A-Za-z0-9]{1,40}| |\n|é",
            0..30,
        ),
    ) {
        static KNOWING: LazyLock<Redactor> = LazyLock::new(|| knowing(&[("A", "hunter22")]));
        let text = parts.concat();
        let once = KNOWING.redact(&text).into_owned();
        prop_assert!(!once.contains("hunter22"));
        prop_assert_eq!(KNOWING.redact(&once), once.as_str());
    }
}

#[test]
fn a_value_that_is_shown_as_bytes_is_found() {
    let redactor = Redactor::new([("KEY", "v4lue-0123456789&x+y")]).unwrap();
    for text in [
        "00000000: 7468 6520 7661 6c75 6520 6973 2076 346c  the value is v4l\n\
         00000010: 7565 2d30 3132 3334 3536 3738 3926 782b  ue-0123456789&x+\n\
         00000020: 79                                       y\n",
        "00000000  74 68 65 20 76 61 6c 75  65 20 69 73 20 76 34 6c  |the value is v4l|\n\
         00000010  75 65 2d 30 31 32 33 34  35 36 37 38 39 26 78 2b  |ue-0123456789&x+|\n\
         00000020  79                                                |y|\n00000021\n",
        " 76 34 6c 75 65 2d 30 31 32 33 34 35 36 37 38 39\n 26 78 2b 79\n",
        "76:34:6C:75:65:2D:30:31:32:33:34:35:36:37:38:39:26:78:2B:79",
        "[0x76, 0x34, 0x6c, 0x75, 0x65, 0x2d, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, \
         0x39, 0x26, 0x78, 0x2b, 0x79]",
        "v4lue-0123456789\\u0026x\\u002By",
        "v4lue-0123456789\\&x+y",
    ] {
        let clean = redactor.redact(text);
        assert!(clean.contains("[secret:KEY]"), "{text}: {clean}");
        assert!(!clean.contains("0123") && !clean.contains("30 31"), "{clean}");
        let mut json = serde_json::to_string(&[text]).unwrap();
        redactor.redact_json(&mut json);
        assert!(json.contains("[secret:KEY]"), "{json}");
    }
    let ordinary = "00000000: 7468 6520 7661 6c75 6520 6973 2074 6865  the value is the\n";
    assert_eq!(redactor.redact(ordinary), ordinary);
}

#[test]
fn a_secret_within_an_address_is_found_alone() {
    let redactor = Redactor::new([
        ("DATABASE_URL", "postgres://shop:tr0ub4dor-horse@db.example:5432/shop"),
        ("SENTRY_DSN", "https://3f9a0c77d1e24b5f8a6b9c0d1e2f3a4b@o1.ingest.example/42"),
        (
            "SLACK_WEBHOOK_URL",
            "https://hooks.slack.example/services/T00/B00/x8Kd02mQpZ71LsVbTq94WcYe",
        ),
        ("REDIS_URL", "redis://default:password@cache.example:6379/0"),
    ])
    .unwrap();
    for text in ["tr0ub4dor-horse", "3f9a0c77d1e24b5f8a6b9c0d1e2f3a4b", "x8Kd02mQpZ71LsVbTq94WcYe"]
    {
        assert!(redactor.redact(&format!("it is {text}.")).contains("[secret:"), "{text}");
    }
    for text in ["the password of shop", "default postgres services db.example:5432"] {
        assert_eq!(redactor.redact(text), text);
    }
}

#[test]
fn a_value_spelled_in_escapes_is_found_in_a_text_and_in_json() {
    let value = "V-A_1ue9QwErTyZ";
    let redactor = knowing(&[("RX", value)]);
    let spelled = |form: &dyn Fn(u8) -> String| value.bytes().map(form).collect::<String>();
    for text in [
        spelled(&|byte| format!("\\x{byte:02x}")),
        spelled(&|byte| format!("\\x{byte:02X}")),
        spelled(&|byte| format!("\\{byte:03o}")),
        spelled(&|byte| format!("\\0{byte:03o}")),
        spelled(&|byte| format!("\\u{byte:04x}")),
    ] {
        assert_eq!(redactor.redact(&text), "[secret:RX]");
        let mut json = serde_json::json!({"content": format!("1|{text}\n")}).to_string();
        redactor.redact_json(&mut json);
        assert_eq!(json, r#"{"content":"1|[secret:RX]\n"}"#);
    }
}

#[test]
fn a_secret_split_by_what_no_reader_sees_is_found() {
    let value = "V-A_1ue9QwErTyZ";
    let redactor = knowing(&[("RX", value)]);
    let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    for (secret, label) in [(value, "[secret:RX]"), (token, "[redacted:github-token]")] {
        for hidden in ["\u{1b}[0m", "\u{1b}[1;31m", "\u{200b}", "\u{200d}", "\u{2060}", "\u{feff}"]
        {
            let split = format!("<{}{hidden}{}>", &secret[..9], &secret[9..]);
            assert_eq!(redactor.redact(&split), format!("<{label}>"), "{hidden:?}");
            let colored = format!("{hidden}{secret}{hidden}");
            assert_eq!(redactor.redact(&colored), format!("{hidden}{label}{hidden}"));
            let mut json = serde_json::to_string(&split).expect("a string");
            redactor.redact_json(&mut json);
            assert_eq!(json, format!("\"<{label}>\""));
        }
    }
}

#[test]
fn state_that_programs_read_again_keeps_values_known_only_by_name() {
    let redactor = knowing(&[("RX", "V-A_1ue9QwErTyZ")]);
    let state = r#"{"text":"DB_PASSWORD=hunter2x99\ncurl -H V-A_1ue9QwErTyZ"}"#.to_owned();
    let (mut kept, mut shown) = (state.clone(), state);
    redactor.redact_state(&mut kept);
    assert_eq!(kept, r#"{"text":"DB_PASSWORD=hunter2x99\ncurl -H [secret:RX]"}"#);
    redactor.redact_json(&mut shown);
    assert_eq!(shown, r#"{"text":"DB_PASSWORD=[redacted]\ncurl -H [secret:RX]"}"#);
}
