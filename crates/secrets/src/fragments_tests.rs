use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::Redactor;

/// Values as people have them, real in shape only.
const REALISTIC: &[(&str, &str)] = &[
    ("OPENAI", "sk-proj-aB3dE5_gH7iJ9kL1mN-3oP5qR7sT9uV1"),
    ("ANTHROPIC", "sk-ant-api03-Zx8Qw2Er4Ty6Ui8Op0As-2Df4Gh6Jk8"),
    ("GITHUB", "github_pat_11BXQ7Z0k2mW9_vT4nR8sLcY1fH6jD3pG5"),
    ("SLACK", "xoxb-123456789012-123456789012-AbQdXfGhZjKl"),
    ("SESSION", "123e4567-e89b-12d3-a456-426614174000"),
    ("PASSPHRASE", "correct-horse-battery-staple"),
    ("ADMIN", "PostgresAdmin123"),
    ("SEASON", "Summer2024!x"),
    ("CAMEL", "MyCompanyProduction"),
    ("DATABASE_URL", "postgres://app:hunter2@localhost:5432/main"),
    ("WEBHOOK", "https://hooks.example.com/services/T0A1B2C3/B4D5E6F7/x8Kd93jfLs2Wq"),
    ("SIGNED", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI4NDEifQ.Qx7Zk2Wm9Vt4Nr8S"),
    ("FILLER", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    (
        "PEM",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
    ),
    ("HEX", "9f86d081884c7d659a2feaa0c55ad015"),
];

fn knowing(secrets: &[(&str, &str)]) -> Redactor {
    Redactor::new(secrets.iter().copied()).expect("few secrets")
}

fn redact(value: &str, text: &str) -> String {
    knowing(&[("K", value)]).redact(text).into_owned()
}

#[test]
fn a_value_that_was_cut_goes() {
    let value = "x8Kd93jfLs2WqZ7vTn4RbYc6";
    for cut in [
        &value[1..],
        &value[..23],
        &value[..12],
        &value[12..],
        &value[5..17],
        &value[6..18],
        &value[7..19],
        &value[8..20],
        &value[9..21],
    ] {
        for (before, after) in [("", ""), ("key=", "…"), ("_", "_"), ("é", "é"), ("\"", "\\n")]
        {
            let text = format!("{before}{cut}{after}");
            assert_eq!(redact(value, &text), format!("{before}[secret:K]{after}"), "{text}");
        }
    }
    assert_eq!(redact(value, &value[..11]), &value[..11]);
}

#[test]
fn a_short_value_is_told_by_half_of_it() {
    let value = "x8Kd93jfLs2WqZ7v";
    assert_eq!(redact(value, &format!("{}...", &value[..8])), "[secret:K]...");
    assert_eq!(redact(value, &format!("...{}", &value[8..])), "...[secret:K]");
    // Neither too little of it nor the middle.
    for text in [&value[..7], &value[9..], &value[3..14]] {
        assert_eq!(redact(value, text), text);
    }
    let longer = "x8Kd93jfLs2WqZ7vTn4RbY";
    assert_eq!(redact(longer, &longer[..11]), "[secret:K]");
    assert_eq!(redact(longer, &longer[..10]), &longer[..10]);
}

#[test]
fn pieces_of_encoded_forms_go() {
    let value = "x8Kd93jfLs2WqZ7vTn4RbYc6";
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let encoded = STANDARD.encode(value);
    for form in [hex.to_uppercase(), hex, encoded] {
        for cut in [&form[1..], &form[..form.len() - 1], &form[9..23]] {
            assert_eq!(redact(value, &format!("<{cut}>")), "<[secret:K]>");
        }
    }
    for before in ["a", "ab", "user:"] {
        let text = STANDARD.encode(format!("{before}{value}"));
        let cut = &text[..text.len() - 8];
        assert!(redact(value, cut).contains("[secret:K]"), "{cut}");
    }
}

#[test]
fn nearly_all_of_a_value_goes_however_ordinary() {
    let value = "tok_abcdef1234567890abcdef12";
    assert_eq!(redact(value, &value[1..]), "[secret:K]");
    assert_eq!(redact(value, &value[..27]), "[secret:K]");
    let alphabet = "const DIGITS: &str = \"0123456789abcdefghijklmnopqrstuvwxyz\";";
    assert_eq!(redact(value, alphabet), alphabet);
}

#[test]
fn what_a_service_puts_before_all_tokens_stays() {
    let redactor = knowing(REALISTIC);
    for text in [
        "keys begin with sk-ant-api03- or sk-ant-api03...",
        "if key.starts_with(\"github_pat_11\") {",
        "sk-proj-... is a project key",
        "the header eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9 says HS256",
    ] {
        assert_eq!(redactor.redact(text), text);
    }
}

#[test]
fn ordinary_text_stays_whatever_is_known() {
    let redactor = knowing(REALISTIC);
    for text in [
        "postgres://localhost:5432/main",
        "DATABASE_URL=postgres://localhost:5432/main?sslmode=disable",
        "listening on localhost:5432, user app, database main",
        "https://hooks.example.com/services/ is where hooks go",
        "-----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----",
        "the correct horse has a battery and a staple: correct-horse, battery-staple",
        "class PostgresAdapter(PostgresAdministration): pass",
        "Summer2024.jpg was taken in Summer of 2024",
        "MyCompany, MyCompanyProducts and MyCompanyProd in production",
        "0123456789abcdef0123456789ABCDEF abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLM",
        "123e4567 is the start, 12d3 and a456 are in it, 426614174 too",
        "123456789012 is an account",
        "fn main() { let client = Client::new(\"https://api.example.com\"); }",
        "d41d8cd98f00b204e9800998ecf8427e da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "00000000-0000-0000-0000-000000000000",
        "SGVsbG8sIHdvcmxkISBUaGlzIGlzIGEgdGVzdC4=",
        include_str!("fragments.rs"),
        include_str!("vault.rs"),
        include_str!("secret_names.rs"),
        include_str!("environment.rs"),
        include_str!("../Cargo.toml"),
    ] {
        assert_eq!(redactor.redact(text), text);
    }
}

#[test]
fn what_has_no_shape_stays_whatever_is_known() {
    let redactor = knowing(REALISTIC);
    for text in crate::patterns::tests::ORDINARY {
        assert_eq!(redactor.redact(text), *text);
    }
    // There are shapes in these, and they go with these values or without.
    for text in [
        include_str!("common_values_tests.rs"),
        include_str!("environment_tests.rs"),
        include_str!("json_tests.rs"),
        include_str!("secret_names_tests.rs"),
        include_str!("reference_tests.rs"),
        include_str!("vault_tests.rs"),
    ] {
        assert_eq!(redactor.redact(text), Redactor::default().redact(text));
    }
}

#[test]
fn pieces_behind_escapes_go() {
    let value = "x8\"Kd93\\jf\"Ls2W";
    let redactor = knowing(&[("K", value)]);
    for cut in [&value[1..], &value[..14], &value[..8], &value[7..]] {
        let mut text = json!({ "a": cut }).to_string();
        redactor.redact_json(&mut text);
        assert_eq!(text, json!({ "a": "[secret:K]" }).to_string(), "{cut}");
    }
    let nested = json!({ "log": json!({ "a": &value[1..] }).to_string() }).to_string();
    let mut text = nested.clone();
    redactor.redact_json(&mut text);
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    assert!(text.contains("[secret:K]") && !text.contains("Kd93"), "{text}");
}

#[test]
fn short_parts_are_not_taken_for_a_prefix() {
    let value = "Bv-Fzvbb2_Jzq2_VB";
    assert_eq!(redact(value, &value[..12]), "[secret:K]");
    assert_eq!(redact(value, &value[5..]), "[secret:K]");
}

#[test]
fn a_signed_token_is_told_by_its_signature() {
    let value = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI4NDEifQ.Qx7Zk2Wm9Vt4Nr8SLcY1fH6jD3pG5";
    assert_eq!(redact(value, &value[40..]), "[secret:K]");
    assert_eq!(redact(value, &value[45..60]), "[secret:K]");
    assert_eq!(redact(value, &value[..60]), "[secret:K]");
    let other = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln";
    assert_eq!(redact(value, other), "[redacted:jwt]");
}

#[test]
fn a_value_known_twice_has_the_first_name() {
    let value = "x8Kd93jfLs2WqZ7vTn4RbYc6";
    let redactor = knowing(&[("A", value), ("B", value)]);
    assert_eq!(redactor.redact(&value[1..]), "[secret:A]");
}

#[test]
fn the_number_of_anchors_is_bounded() {
    let secrets: Vec<String> = (0..5000_u64).map(|n| random_text(n, 64)).collect();
    let pairs = secrets.iter().enumerate().map(|(at, value)| (value.as_str(), at));
    assert_eq!(FragmentIndex::new(pairs).len(), MAX_ANCHORS);
    let long = random_text(7, 60_000);
    let fragments = FragmentIndex::new([(long.as_str(), 0)]);
    assert_eq!(fragments.len(), MAX_ENCODED_ANCHORS.min(MAX_FORM_ANCHORS * 7));
}

#[test]
fn a_long_value_is_found_in_pieces_and_whole() {
    let value = random_text(3, 4096);
    let redactor = knowing(&[("K", &value)]);
    for (from, to) in [(0, 4095), (1, 4096), (2000, 2012), (2001, 2500), (4084, 4096)] {
        assert_eq!(redactor.redact(&value[from..to]), "[secret:K]", "{from}..{to}");
    }
}

#[test]
fn texts_full_of_pieces_are_read_once() {
    // Each would take hours if every anchor were read to the end.
    let periodic = "x8Kd93jfLs".repeat(400);
    let zeros = format!("x8Kd93jfLs2W{}q7", "0".repeat(2000));
    for value in [periodic.as_str(), zeros.as_str()] {
        let redactor = knowing(&[("K", value)]);
        let unit = &value[3..value.len() - 2];
        for text in [unit.repeat(60_000 / unit.len()), "0".repeat(60_000), "x8Kd".repeat(99)] {
            let clean = redactor.redact(&text).into_owned();
            assert_eq!(redactor.redact(&clean), clean);
        }
    }
}

/// Letters and digits that are the same for the same seed.
fn random_text(seed: u64, length: usize) -> String {
    let letters = b"bcdfghjkmnpqrtvwxzBCDFGHJKMNPQRTVWXZ23456789";
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(letters[(state >> 33) as usize % letters.len()])
    };
    (0..length).map(next).collect()
}

/// Random-looking values. Without vowels, so that none holds a word.
fn random_value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[BCDFGHJKMNPQRTVWXZbcdfghjkmnpqrtvwxz2-9]{12,80}",
        "[BCDFGHJKMQRVWXZbcdfghjkmqrvwxz2-9!#$%&()*+,;<=>?@^{|}~-]{16,60}",
        "[BCDFGHJKMQRVWXZbcdfghjkmqrvwxz2-9_\"\\\\-]{16,60}",
        "[0-9a-f]{32,64}",
        "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
        "ghp_[BCDFGHJKMNPQRTVWXZbcdfghjkmnpqrtvwxz2-9]{36}",
    ]
}

/// Whether a piece of 12 letters is one that must go, in words of its own.
fn must_go(piece: &str) -> bool {
    let digits = piece.chars().filter(char::is_ascii_digit).count();
    let upper = piece.chars().filter(char::is_ascii_uppercase).count();
    let lower = piece.chars().filter(char::is_ascii_lowercase).count();
    let kinds: HashSet<char> = piece.chars().collect();
    // A word or a row may make up most of it by chance.
    kinds.len() >= 8 && ((digits > 0 && upper + lower > 0) || (upper > 0 && lower > 0))
}

fn left_over(value: &str, clean: &str) -> Option<String> {
    let letters = value.as_bytes().windows(MIN_FRAGMENT_CHARS);
    letters
        .filter_map(|piece| std::str::from_utf8(piece).ok())
        .find(|piece| must_go(piece) && clean.contains(piece))
        .map(str::to_owned)
}

fn pieces(value: &str, cuts: &[(prop::sample::Index, usize)]) -> Vec<String> {
    let cut = |(from, length): &(prop::sample::Index, usize)| {
        let from = from.index(value.len() - MIN_FRAGMENT_CHARS + 1);
        value[from..value.len().min(from + MIN_FRAGMENT_CHARS + length)].to_owned()
    };
    cuts.iter().map(cut).collect()
}

proptest! {
    #[test]
    fn no_piece_is_left_in_a_text(
        value in random_value(),
        other in random_value(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..60_usize), 1..8),
        gaps in prop::collection::vec("\\PC{0,6}", 8),
    ) {
        let redactor = knowing(&[("ONE", &value), ("TWO", &other)]);
        let mut text = String::new();
        let both = pieces(&value, &cuts).into_iter().zip(pieces(&other, &cuts));
        for ((one, two), gap) in both.zip(&gaps) {
            text.extend([gap.as_str(), &one, gap, &two]);
        }
        let clean = redactor.redact(&text).into_owned();
        prop_assert_eq!(left_over(&value, &clean), None, "{}", clean);
        prop_assert_eq!(left_over(&other, &clean), None, "{}", clean);
        prop_assert_eq!(redactor.redact(&clean), clean.as_str());
    }

    #[test]
    fn no_piece_is_left_in_json(
        value in random_value(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..60_usize), 1..6),
        gap in "\\PC{0,6}",
    ) {
        let redactor = knowing(&[("ONE", &value)]);
        let strings: Vec<String> =
            pieces(&value, &cuts).iter().map(|piece| format!("{gap}{piece}{gap}")).collect();
        let inner = json!({ "a": &strings, &strings[0]: 1 });
        let document = json!({ "inner": inner.to_string(), "outer": inner });
        let mut text = document.to_string();
        redactor.redact_json(&mut text);
        let back: Value = serde_json::from_str(&text).expect("still JSON");
        let outer = &back["outer"];
        let kept = outer["a"].as_array().expect("a list").iter().filter_map(Value::as_str);
        let keys = outer.as_object().expect("an object").keys().map(String::as_str);
        for string in kept.chain(keys).chain(back["inner"].as_str()) {
            prop_assert_eq!(left_over(&value, string), None, "{}", text);
        }
        let once = text.clone();
        redactor.redact_json(&mut text);
        prop_assert_eq!(text, once);
    }

    #[test]
    fn half_of_a_short_value_does_not_stay(
        value in "([bcdfgh][2-9][KMQRVX]){4,7}",
        extra in 0..8_usize,
        gap in "[ …\n\"]{0,3}",
    ) {
        let least = MIN_EDGE_CHARS.max(value.len().div_ceil(2));
        let length = value.len().min(least + extra);
        let redactor = knowing(&[("ONE", &value)]);
        for piece in [&value[..length], &value[value.len() - length..]] {
            let clean = redactor.redact(&format!("{gap}{piece}{gap}")).into_owned();
            prop_assert_eq!(clean, format!("{gap}[secret:ONE]{gap}"));
        }
    }

    #[test]
    fn words_stay_whatever_is_known(
        words in prop::collection::vec(
            "the|quick|Postgres|localhost|PRODUCTION|MyCompany|Adapter|battery|staple|Summer|sk-ant|\
             api03|github_pat|service|session|[0-9]{1,4}|-|_|\\.|/|:| |\n",
            0..60,
        ),
    ) {
        static KNOWING: LazyLock<Redactor> = LazyLock::new(|| knowing(REALISTIC));
        static KNOWING_NOTHING: LazyLock<Redactor> = LazyLock::new(Redactor::default);
        // Words in a row may well have the shape of a token. None are most of a
        // value.
        let text = words.concat();
        prop_assert_eq!(KNOWING.redact(&text), KNOWING_NOTHING.redact(&text));
    }
}

#[test]
fn a_slash_is_a_letter_of_base64_and_an_end_in_a_path() {
    let key = "wJalrXUtnFEMI7K8MDENG/bPxRfiCYzq4H2vQ9/T";
    let cut = redact(key, "log: wJalrXUtnFEMI7K8MDENG/bPx and no more");
    assert!(!cut.contains("FEMI7K8"), "{cut}");
    let path = "/srv/Data/releases/v12/builds/Nightly2024/archive";
    let text = "see releases/v12/builds/Nightly2024";
    assert_eq!(redact(path, text), text);
}
