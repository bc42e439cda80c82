use serde_json::json;

use super::*;

#[test]
fn texts_become_exact_numbers() {
    let table = [
        ("42", json!(42)),
        ("42.0", json!(42)),
        ("1e3", json!(1000)),
        ("1.5e1", json!(15)),
        (" 7 ", json!(7)),
        ("1_000", json!(1000)),
        ("+5", json!(5)),
        ("-0", json!(0)),
        ("0.000", json!(0)),
        (".5", json!(0.5)),
        ("5.", json!(5)),
        ("-2.5e-3", json!(-0.0025)),
        ("9007199254740993", json!(9_007_199_254_740_993_i64)),
        ("9007199254740993.0", json!(9_007_199_254_740_993_i64)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("18446744073709551615", json!(u64::MAX)),
        ("1e300", json!(1e300)),
    ];
    for (text, number) in table {
        assert_eq!(parse_number(text, false), Some(number), "{text}");
    }
}

#[test]
fn what_cannot_be_held_exactly_is_left_alone() {
    for text in [
        "",
        " ",
        "-",
        ".",
        "e5",
        "1e",
        "inf",
        "nan",
        "NaN",
        "0x10",
        "1,000",
        "1__0",
        "_1",
        "1_",
        "5 apples",
        "18446744073709551616",
        "123456789012345678901234567890",
        "1e400",
        "1e-400",
        "1e99999999999",
        "0.12345678901234567890",
        "१२",
    ] {
        assert_eq!(parse_number(text, false), None, "{text}");
    }
    assert_eq!(parse_number(&"9".repeat(10_000), false), None);
    assert_eq!(parse_number("4.5", true), None);
    assert_eq!(parse_number("1e20", true), None);
}

#[test]
fn integral_floats_become_integers_if_some_integer_is_equal() {
    assert_eq!(integer_from_float(3.0), Some(json!(3)));
    assert_eq!(integer_from_float(-3.0), Some(json!(-3)));
    assert_eq!(integer_from_float(1e19), Some(json!(10_000_000_000_000_000_000_u64)));
    assert_eq!(
        integer_from_float(9_223_372_036_854_775_808.0),
        Some(json!(9_223_372_036_854_775_808_u64))
    );
    for other in [3.5, 1e20, -1e19, 18_446_744_073_709_551_616.0, f64::NAN, f64::INFINITY] {
        assert_eq!(integer_from_float(other), None, "{other}");
    }
}

#[test]
fn short_integers_are_what_the_long_way_makes_of_them() {
    for text in
        ["0", "-0", "7", "007", "-12", "100", "-900", "999999999999999999", "-1000000000000"]
    {
        let long = DecimalParts::parse(text).and_then(|decimal| decimal.to_integer());
        assert_eq!(parse_short_integer(text), long, "{text}");
        assert_eq!(parse_number(text, true), long.map(Value::Number), "{text}");
    }
    for text in ["", "-", "+1", "--1", "1-", "1_0", "1.0", "1e3", "1000000000000000000", "१"] {
        assert_eq!(parse_short_integer(text), None, "{text}");
    }
}
