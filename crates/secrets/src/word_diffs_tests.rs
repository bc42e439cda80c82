use super::diff_sides;
use crate::Redactor;

#[test]
fn both_sides_of_a_word_diff_are_redacted() {
    let (old, new) = ("hT5nB7cD1wZ3", "kX8mP2qL9vR4");
    for text in [
        format!("password = \"[-{old}-]{{+{new}+}}\""),
        format!("password = \"[-[redacted]-]{{+{new}+}}\""),
        format!("12|DB_PASSWORD=[-{old}-]{{+{new}+}}"),
        format!("password: [-{old}-]{{+{new}+}}\n"),
        format!("password = [-\"{old}\"-]{{+\"{new}\"+}}"),
        format!("5|{{+password = {new}+}} (missing in the old text)"),
        format!("5|[-password: {old}-] (not in the file)"),
        format!("a\npassword: {old}[-x-]{{+y+}}{new}\nb"),
        format!("password: {old}{{+{new}+}}"),
        format!("GITHUB_TOKEN=[-ghp_{old}{new}{old}-]{{+ghp_{new}{old}{new}+}}"),
        format!("ghp_{old}[-{new}-]{{+{old}+}}{new}"),
        format!("{{\"difference\":\"2|password = \\\"[-{old}-]{{+{new}+}}\\\"\"}}"),
    ] {
        let clean = Redactor::default().redact(&text).into_owned();
        assert!(clean.contains("[redacted"), "{text}: {clean}");
        assert!(!clean.contains(old) && !clean.contains(new), "{text}: {clean}");
        assert_eq!(Redactor::default().redact(&clean), clean, "a second time changes nothing");
        let mut json = serde_json::json!({ "difference": text }).to_string();
        Redactor::default().redact_json(&mut json);
        assert!(!json.contains(old) && !json.contains(new), "{json}");
    }
    assert_eq!(
        Redactor::default().redact("password = \"abc12[-3x-]{+4y+}\" # [-a-]{+b+}"),
        "password = \"[redacted]\" # [-a-]{+b+}"
    );
}

#[test]
fn word_diffs_without_secrets_stay() {
    for text in [
        "timeout = 3[-1-]{+0+}",
        "password = get_[-old-]{+new+}_password()",
        "[-a-] {+b+} [-- {++ [-] {+} [-\n-] {+",
        "let x = y[-1]; [^a-]{+}",
    ] {
        assert_eq!(Redactor::default().redact(text), text);
    }
}

#[test]
fn each_side_has_its_own_text() {
    let sides = diff_sides("x\na[-b-]{+c+}d\ny\n[-[-e-]\n").expect("marks");
    let texts: Vec<&str> = sides.iter().map(super::DiffSide::text).collect();
    assert_eq!(texts, ["abd\n[-e\n", "acd\n\n"]);
    assert!(diff_sides("[- {+ -] \n +}").is_some());
    assert!(diff_sides("[-\n-] {+\n+}").is_none());
}
