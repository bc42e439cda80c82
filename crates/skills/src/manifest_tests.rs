use super::*;

fn of(fields: &str) -> ParsedSkillFile<'static> {
    let text = format!("---\n{fields}---\n\n# Title\n\nFirst words.\n").leak();
    parse(text, "demo").expect("readable")
}

#[test]
fn a_skill_by_the_rules_has_nothing_odd() {
    let read = of("name: demo\ndescription: Does things.\nversion: 1.0\nlicense: MIT\n");
    assert_eq!(read.notes, []);
    assert_eq!(read.manifest.name, "demo");
    assert_eq!(read.manifest.version.as_deref(), Some("1.0"));
    assert_eq!(read.body.trim(), "# Title\n\nFirst words.");
}

#[test]
fn lists_are_read_in_every_form() {
    let head =
        of("name: demo\ndescription: d\nplatforms: [linux, macos]\nmetadata:\n  hermes:\n    \
                   tags: \"[a, b]\"\n    related_skills: x, y\n")
        .manifest;
    assert_eq!(head.platforms, ["linux", "macos"]);
    assert_eq!(head.tags, ["a", "b"]);
    assert_eq!(head.related, ["x", "y"]);
    assert_eq!(of("name: demo\ndescription: d\nplatforms: linux\n").manifest.platforms, ["linux"]);
    let tools =
        of("name: demo\ndescription: d\nallowed-tools: Bash(git:*, jq) Read\n").manifest.tools;
    assert_eq!(tools, ["Bash(git:*, jq)", "Read"]);
}

#[test]
fn variables_are_gathered_from_everywhere() {
    let head = of(
        "name: demo\ndescription: d\nrequired_environment_variables:\n  - A_KEY\n  - name: B\n    \
                   prompt: x\nprerequisites:\n  env_vars: [A_KEY, C, 'not one']\nsetup:\n  \
                   collect_secrets:\n    - env_var: D\n",
    )
    .manifest;
    assert_eq!(head.variables, ["A_KEY", "B", "C", "D"]);
}

#[test]
fn what_is_missing_is_made_up_for_and_told() {
    let read = of("version: 2\n");
    assert_eq!((&*read.manifest.name, &*read.manifest.description), ("demo", "First words."));
    assert_eq!(read.notes.len(), 2, "{:?}", read.notes);
    let read = of("description: d\nname: Other Name\n");
    assert_eq!(read.manifest.name, "Other Name");
    assert!(read.notes.iter().all(|note| note.line == Some(3)) && read.notes.len() == 2);
}

#[test]
fn long_texts_are_cut_and_told() {
    let long = "word ".repeat(400);
    let read = of(&format!("name: demo\ndescription: {long}\n"));
    assert!(
        read.manifest.description.chars().count() <= 1024
            && read.manifest.description.ends_with("...")
    );
    assert_eq!(read.notes.len(), 1);
}

#[test]
fn without_anything_to_say_it_is_no_skill() {
    let fault = |text: &str| super::parse(text, "demo").expect_err(text);
    assert!(fault("---\nname: demo\n---\n# Only a title\n").what.contains("neither"));
    let empty = fault("---\nname: demo\ndescription: d\n---\n \n");
    assert!(empty.line == 4 && empty.what.contains("no instructions"), "{empty:?}");
}
