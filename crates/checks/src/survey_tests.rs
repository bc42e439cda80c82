use super::*;

fn printed(parts: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, name, body) in parts {
        bytes.extend_from_slice(format!("\nM {kind} {name}\0{body}").as_bytes());
    }
    bytes
}

fn monorepo() -> ProjectSurvey {
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
    ProjectSurvey::parse("M", &printed).unwrap()
}

#[test]
fn what_the_script_prints_is_read() {
    let survey = monorepo();
    assert_eq!(survey.path, Path::new("/w/app"));
    assert!(!survey.is_file);
    assert_eq!(survey.files, [Path::new("/w/app/src/a.js"), Path::new("/w/app/b c.ts")]);
    let dirs: Vec<_> = survey.dirs.iter().map(|dir| dir.path.as_path()).collect();
    assert_eq!(dirs, [Path::new("/w/app"), Path::new("/w")]);
    let dir = survey.nearest(&["pyproject.toml"]).unwrap();
    assert!(dir.has_table("pyproject.toml", &["tool", "ruff"]));
    assert!(!dir.has_table("pyproject.toml", &["tool", "black"]));
    assert!(!dir.requires("black"), "another package with that in its name");
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
    let dir = Path::new("/w/app");
    assert_eq!(survey.resolve_path("/real/w/app/src/a.js", dir), Path::new("/w/app/src/a.js"));
    assert_eq!(survey.resolve_path("./src/a.js", dir), Path::new("/w/app/src/a.js"));
    assert_eq!(survey.resolve_path("/elsewhere/a.js", dir), Path::new("/elsewhere/a.js"));
}

#[test]
fn nothing_there_and_nothing_sensible_are_told_apart() {
    let missing = printed(&[("missing", "", "")]);
    assert_eq!(ProjectSurvey::parse("M", &missing), Err(SurveyError::Missing));
    assert_eq!(ProjectSurvey::parse("M", b""), Err(SurveyError::Unparsable));
    assert_eq!(ProjectSurvey::parse("M", b"\nM at"), Err(SurveyError::Unparsable));
    let cut = printed(&[("folder", "/w", ""), ("at", "/w", "a\n")]);
    assert_eq!(
        ProjectSurvey::parse("M", &cut),
        Err(SurveyError::Unparsable),
        "it was ended before its end"
    );
}

/// Runs the script with a shell that is there; none if it is not.
fn look(shell: &[&str], top: &Path, path: &Path, active: Option<&Path>) -> Option<ProjectSurvey> {
    let mut command = std::process::Command::new(shell[0]);
    command
        .args(&shell[1..])
        .args(["-c", SURVEY_SCRIPT, "sh"])
        .args(ProjectSurvey::arguments("M", top, path));
    command.env_remove("VIRTUAL_ENV").envs(active.map(|dir| ("VIRTUAL_ENV", dir)));
    let output = command.output().ok()?;
    Some(ProjectSurvey::parse("M", &output.stdout).unwrap_or_else(|unseen| {
        panic!("{shell:?}: {unseen:?}: {}", String::from_utf8_lossy(&output.stdout))
    }))
}

#[test]
fn the_script_works_in_every_shell() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let inner = top.join("a b\n'c'");
    for name in ["node_modules/.bin", "node_modules/x", "src", ".venv/bin"] {
        std::fs::create_dir_all(inner.join(name)).unwrap();
    }
    let files = [
        "package.json",
        "node_modules/.bin/jest",
        "node_modules/x/x.js",
        "src/é.js",
        ".venv/bin/python",
    ];
    for name in files {
        std::fs::write(inner.join(name), "{}").unwrap();
    }
    std::fs::write(top.join("Cargo.toml"), "[workspace]\n").unwrap();
    let mut seen = 0;
    for shell in [&["sh"][..], &["bash"], &["dash"], &["busybox", "sh"]] {
        let Some(survey) = look(shell, &top, &inner, None) else { continue };
        seen += 1;
        let dirs: Vec<_> = survey.dirs.iter().map(|dir| &dir.path).collect();
        assert_eq!(dirs, [&inner, &top], "{shell:?}");
        let mut found = survey.files.clone();
        found.sort();
        assert_eq!(found, [inner.join("package.json"), inner.join("src/é.js")], "{shell:?}");
        assert_eq!(survey.program("jest"), Some(inner.join("node_modules/.bin/jest")));
        assert_eq!(survey.nearest(&["Cargo.toml"]).unwrap().text("Cargo.toml"), "[workspace]\n");
        assert_eq!(survey.active_env, None, "{shell:?}: nothing is active");
        let active =
            look(shell, &top, &inner.join("src/é.js"), Some(&inner.join(".venv"))).unwrap();
        assert_eq!(active.active_env.unwrap().0, inner.join(".venv/bin"), "{shell:?}");
        assert!(active.is_file && active.files == [inner.join("src/é.js")], "{shell:?}");
    }
    assert!(seen > 0);
}
