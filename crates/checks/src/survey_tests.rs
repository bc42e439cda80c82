use super::*;

fn printed(parts: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, name, body) in parts {
        bytes.extend_from_slice(format!("\nM {kind} {name}\n{body}").as_bytes());
    }
    bytes
}

fn monorepo() -> Survey {
    let printed = printed(&[
        ("folder", "/w/app", ""),
        ("at", "/w/app", "src\npackage.json\n"),
        ("real", "/real/w/app", ""),
        ("text", "package.json", r#"{"devDependencies":{"eslint":"9"}}"#),
        ("bin", "node_modules/.bin", "eslint\n"),
        ("at", "/w", "app\npyproject.toml\n"),
        ("real", "/real/w", ""),
        (
            "text",
            "pyproject.toml",
            "[tool.ruff]\nline-length = 90\n\n[project]\ndependencies = [\"black-box>=1\"]\n",
        ),
        ("env", "/venv/bin", "ruff\npython\n"),
        ("program", "eslint", "/usr/bin/eslint"),
        ("program", "python3", "/usr/bin/python3"),
        ("below", "", "./src/a.js\0./b c.ts\0"),
    ]);
    Survey::read("M", &printed).unwrap()
}

#[test]
fn what_the_script_prints_is_read() {
    let survey = monorepo();
    assert_eq!(survey.path, Path::new("/w/app"));
    assert!(!survey.is_file);
    assert_eq!(survey.files, [Path::new("/w/app/src/a.js"), Path::new("/w/app/b c.ts")]);
    let folders: Vec<_> = survey.folders.iter().map(|folder| folder.path.as_path()).collect();
    assert_eq!(folders, [Path::new("/w/app"), Path::new("/w")]);
    let folder = survey.nearest(&["pyproject.toml"]).unwrap();
    assert!(folder.has_table("pyproject.toml", &["tool", "ruff"]));
    assert!(!folder.has_table("pyproject.toml", &["tool", "black"]));
    assert!(!folder.requires("black"), "another package with that in its name");
    assert!(survey.nearest(&["package.json"]).unwrap().depends_on("eslint"));
}

#[test]
fn the_projects_own_programs_come_first() {
    let survey = monorepo();
    assert_eq!(survey.program("eslint").unwrap(), Path::new("/w/app/node_modules/.bin/eslint"));
    assert_eq!(survey.program("ruff").unwrap(), Path::new("/venv/bin/ruff"));
    assert_eq!(survey.python().unwrap(), Path::new("/venv/bin/python"));
    assert_eq!(survey.program("nonesuch"), None);
}

#[test]
fn a_real_name_becomes_the_one_that_was_used() {
    let survey = monorepo();
    let folder = Path::new("/w/app");
    assert_eq!(survey.place("/real/w/app/src/a.js", folder), Path::new("/w/app/src/a.js"));
    assert_eq!(survey.place("./src/a.js", folder), Path::new("/w/app/src/a.js"));
    assert_eq!(survey.place("/elsewhere/a.js", folder), Path::new("/elsewhere/a.js"));
}

#[test]
fn nothing_there_and_nothing_sensible_are_told_apart() {
    let missing = printed(&[("missing", "", "")]);
    assert_eq!(Survey::read("M", &missing), Err(Unseen::Missing));
    assert_eq!(Survey::read("M", b""), Err(Unseen::Garbled));
    assert_eq!(Survey::read("M", b"\nM at"), Err(Unseen::Garbled));
    let cut = printed(&[("folder", "/w", ""), ("at", "/w", "a\n")]);
    assert_eq!(Survey::read("M", &cut), Err(Unseen::Garbled), "it was ended before its end");
}
