use super::*;

fn is_refused(old: &str, new: &str) -> bool {
    refuse_overwritten_secret(Path::new("/x/app.env"), old, new).is_err()
}

#[test]
fn only_the_forms_of_placeholders_count() {
    for text in ["a=[redacted]", "[redacted:gitlab-token]", "x [secret:DEPLOY_KEY] y", "[secret]"] {
        assert!(has_placeholder(text), "{text}");
    }
    for text in ["[redacted", "[redacted:]", "[secret: x]", "[secrets]", "redacted]", "[Secret]"] {
        assert!(!has_placeholder(text), "{text}");
    }
}

#[test]
fn a_value_is_never_replaced_with_its_placeholder() {
    for (old, new) in [
        ("A=1\nTOKEN=glpat-x\n", "A=2\nTOKEN=[redacted:gitlab-token]\n"),
        ("A=1\r\nTOKEN=x\r\n", "A=1\nTOKEN=[redacted]\n"),
        // Moved, indented, or edited around the placeholder.
        ("TOKEN=x\nA=1\n", "A=1\n  TOKEN=[redacted] # of the CI\n"),
        ("TOKEN=x\n", "export TOKEN = [redacted]\n"),
        ("{\"a\": 1, \"token\": \"x\"}", "{\"token\": \"[secret:T]\"}"),
        ("url = postgres://app:pw@db/main", "url = postgres://app:[redacted:url-password]@db/main"),
        ("- glpat-x\n- b\n", "- [redacted:gitlab-token]\n- b\n"),
        ("glpat-x\n", "[redacted:gitlab-token]\n"),
        ("-----BEGIN KEY-----\nabc\n-----END KEY-----\n", "[redacted:private-key]\n"),
        // One such line exists already; the other is a value.
        ("TOKEN=[redacted]\nTOKEN=x\n", "TOKEN=[redacted]\nTOKEN=[redacted]\n"),
    ] {
        assert!(is_refused(old, new), "{old:?} -> {new:?}");
    }
}

#[test]
fn a_placeholder_that_is_new_text_is_written() {
    for (old, new) in [
        ("", "TOKEN=[redacted]\n"),
        ("print(\"a\")\n", "print(\"a\")\nprint(\"[redacted]\")\n"),
        ("log(token)\n", "log(\"[redacted]\")\n"),
        ("a\n[redacted]\n", "b\n[redacted]\n"),
        ("x = \"[redacted]\"\na\n", "a\n  x = \"[redacted]\"\n"),
        ("// Prints it.\nf()\n", "// [redacted] is printed.\nf()\n"),
        ("TOKEN=x\n", "TOKEN=x\nexample: TOKEN=[redacted]\n"),
        ("MY_TOKEN=x\n", "MY_TOKEN=y\nTOKEN=[redacted]\n"),
    ] {
        assert!(!is_refused(old, new), "{old:?} -> {new:?}");
    }
}

#[test]
fn the_refusal_names_line_placeholder_and_next_step() {
    let error = refuse_overwritten_secret(Path::new("/x/app.env"), "a\nK=v\n", "b\nK=[secret:K]\n")
        .expect_err("a refusal")
        .to_value();
    assert_eq!(error["kind"], "conflict");
    assert_eq!(error["line"], 2);
    assert_eq!(error["placeholder"], "[secret:K]");
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("secret://NAME"), "{error}");
    assert!(!error.to_string().contains("K=v"), "{error}");
}

#[test]
fn hidden_values_are_found_in_one_place_only() {
    let values = |text: &str, old: &str, new: &str| hidden_values(text, old, new);
    let found = |expected: &[&str]| Some(expected.iter().map(|&v| v.to_owned()).collect());
    let text = "a=1\nTOKEN=x y\nKEY=\"k\"\nb=2\n";
    assert_eq!(values(text, "TOKEN=[redacted]", "T=[redacted]"), found(&["x y"]));
    assert_eq!(values(text, "KEY=\"[redacted]\"\nb=2", "KEY=\"[redacted]\""), found(&["k"]));
    let both = "TOKEN=[redacted]\nKEY=\"[redacted]\"\n";
    assert_eq!(values(text, both, &format!("{both}c=3\n")), found(&["x y", "k"]));
    // They would change places, or be lost.
    assert_eq!(values(text, both, "KEY=\"[redacted]\"\nTOKEN=[redacted]\n"), None);
    assert_eq!(values(text, "TOKEN=[redacted]", "TOKEN=new"), None);
    assert_eq!(values(text, "TOKEN=[redacted]", "TOKEN=[secret:T]"), None);
    // Two places, or two ends of the value.
    assert_eq!(values("T=x\nT=y\n", "T=[redacted]", "U=[redacted]"), None);
    assert_eq!(values("T=\"a\\\"b\"\n", "T=\"[redacted]\"", "U=\"[redacted]\""), None);
    // A value has one line and is not empty.
    assert_eq!(values("T=\nb\n", "T=[redacted]\nb", "U=[redacted]\nb"), None);
    assert_eq!(values("T=x\ny\nb\n", "T=[redacted]\nb", "U=[redacted]\nb"), None);
    assert_eq!(values("T=x\r\nb\r\n", "T=[redacted]\nb", "U=[redacted]\nb"), found(&["x"]));
}
