#![allow(clippy::unwrap_used)]

use super::*;

fn program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn virtualenv(home: &Path, version: &str) {
    program(&home.join("bin/python"));
    fs::write(home.join("pyvenv.cfg"), format!("home = /usr\nversion = {version}\n")).unwrap();
}

fn around(pairs: &[(&str, &Path)]) -> EnvVars {
    pairs
        .iter()
        .map(|(name, value)| (OsString::from(*name), value.as_os_str().to_owned()))
        .collect()
}

fn python(environment: &EnvVars, cwd: &Path) -> ScriptInterpreter {
    find_interpreter(ScriptLanguage::Python, ScriptMode::Project, environment, cwd).unwrap()
}

#[test]
fn the_nearest_usable_python_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path();
    let (bin, project) = (top.join("bin"), top.join("project"));
    program(&bin.join("python3"));
    let cwd = project.join("src/deep");
    fs::create_dir_all(&cwd).unwrap();
    let plain = around(&[("PATH", &bin)]);
    assert_eq!(python(&plain, &cwd).program, bin.join("python3"));

    virtualenv(&project.join(".venv"), "3.11.2");
    assert_eq!(
        python(&plain, &cwd).program,
        bin.join("python3"),
        "not above a folder of no project"
    );
    fs::create_dir(project.join(".git")).unwrap();
    let found = python(&plain, &cwd);
    assert_eq!(found.program, project.join(".venv/bin/python"));
    assert_eq!(found.venv, Some(project.join(".venv")));

    let active = top.join("active");
    virtualenv(&active, "3.12.0");
    let with = around(&[("PATH", &bin), ("VIRTUAL_ENV", &active)]);
    assert_eq!(python(&with, &cwd).venv, Some(active.clone()));
    let strict = find_interpreter(ScriptLanguage::Python, ScriptMode::Strict, &with, &cwd).unwrap();
    assert_eq!(strict.program, bin.join("python3"));
    let both = env::join_paths([active.join("bin"), bin.clone()]).unwrap();
    let activated = around(&[("PATH", Path::new(&both)), ("VIRTUAL_ENV", &active)]);
    let strict =
        find_interpreter(ScriptLanguage::Python, ScriptMode::Strict, &activated, &cwd).unwrap();
    assert_eq!(strict.program, bin.join("python3"), "an active one is not clean");

    fs::remove_file(active.join("bin/python")).unwrap();
    let found = python(&with, &cwd);
    assert_eq!(found.venv, Some(project.join(".venv")));
    assert!(found.warning.unwrap().ends_with("active is not used: its Python is missing"));
    virtualenv(&project.join(".venv"), "3.6.9");
    assert_eq!(python(&plain, &cwd).program, bin.join("python3"));
}

#[test]
fn what_is_missing_is_said() {
    let empty = around(&[("PATH", Path::new("/nonesuch"))]);
    for language in [ScriptLanguage::Python, ScriptLanguage::JavaScript] {
        let error =
            find_interpreter(language, ScriptMode::Project, &empty, Path::new("/")).unwrap_err();
        assert_eq!(error.kind(), hermes_core::ErrorKind::Unavailable);
        assert!(error.hint().contains("Install"));
    }
}

#[test]
fn the_module_is_found_where_it_is() {
    let code = "import {a} from 'hermes_tools';\nconst b = await import(\"hermes_tools\");\n'hermes_tools'";
    assert_eq!(
        rewrite_imports(code, "file:///x"),
        "import {a} from 'file:///x';\nconst b = await import(\"file:///x\");\n'hermes_tools'"
    );
}
