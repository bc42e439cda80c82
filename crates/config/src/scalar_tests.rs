use serde_json::json;

use super::*;

#[test]
fn words_and_numbers() {
    let cases = [
        ("", json!(null)),
        ("~", json!(null)),
        ("NULL", json!(null)),
        ("nUll", json!("nUll")),
        ("true", json!(true)),
        ("Yes", json!(true)),
        ("off", json!(false)),
        ("y", json!("y")),
        ("0", json!(0)),
        ("-0", json!(0)),
        ("+7", json!(7)),
        ("-12", json!(-12)),
        ("1_000", json!(1000)),
        ("1__0", json!("1__0")),
        ("1_", json!("1_")),
        ("0x1F", json!(31)),
        ("0o17", json!(15)),
        ("0b101", json!(5)),
        ("0x", json!("0x")),
        ("0x+1", json!("0x+1")),
        ("0600", json!("0600")),
        ("18446744073709551615", json!(u64::MAX)),
        ("18446744073709551616", json!("18446744073709551616")),
        ("-9223372036854775808", json!(i64::MIN)),
        ("-9223372036854775809", json!("-9223372036854775809")),
        ("2.5", json!(2.5)),
        ("-.5", json!(-0.5)),
        ("1.", json!(1.0)),
        ("1e3", json!(1000.0)),
        ("1.0e+300", json!(1e300)),
        ("1e999", json!("1e999")),
        (".", json!(".")),
        ("-", json!("-")),
        ("+", json!("+")),
        ("1e", json!("1e")),
        ("e5", json!("e5")),
        (".e5", json!(".e5")),
        ("1.2.3", json!("1.2.3")),
        (".inf", json!(".inf")),
        (".nan", json!(".nan")),
        ("12:30", json!("12:30")),
        ("2024-01-01", json!("2024-01-01")),
        ("1é", json!("1é")),
        ("0é", json!("0é")),
        ("hermes-cli", json!("hermes-cli")),
    ];
    for (text, expected) in cases {
        assert_eq!(resolve_plain(text), expected, "{text:?}");
    }
}

#[test]
fn quotes_and_tags_decide() {
    let int = Tag::new("tag:yaml.org,2002:", "int");
    let text = Tag::new("tag:yaml.org,2002:", "str");
    let float = Tag::new("tag:yaml.org,2002:", "float");
    let own = Tag::new("!", "secret");
    let bare = Tag::new("!", "");
    let plain = ScalarStyle::Plain;
    let quoted = ScalarStyle::DoubleQuoted;
    assert_eq!(resolve("3", quoted, None), Ok(json!("3")));
    assert_eq!(resolve("3", quoted, Some(&int)), Ok(json!(3)));
    assert_eq!(resolve("3", plain, Some(&text)), Ok(json!("3")));
    assert_eq!(resolve("3", plain, Some(&float)), Ok(json!(3.0)));
    assert_eq!(resolve("3", plain, Some(&own)), Ok(json!(3)));
    assert_eq!(resolve("3", quoted, Some(&own)), Ok(json!("3")));
    assert_eq!(resolve("3", plain, Some(&bare)), Ok(json!("3")));
    assert_eq!(resolve("x", plain, Some(&int)), Err("a whole number"));
}
