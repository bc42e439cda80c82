use super::*;
use crate::survey::Folder;

type Files<'a> = &'a [(&'a str, &'a str)];

fn project(files: &[(&str, &str)]) -> Survey {
    let mut folder = Folder { path: "/w".into(), ..Folder::default() };
    for (name, text) in files {
        folder.names.insert((*name).to_owned());
        folder.texts.insert((*name).to_owned(), (*text).to_owned());
    }
    Survey { path: "/w".into(), folders: vec![folder], ..Survey::default() }
}

#[test]
fn the_projects_manager_installs_it() {
    let cases: [(Files<'_>, Home, &str, &str); 11] = [
        (&[("uv.lock", ""), ("pyproject.toml", "")], Home::Python, "ruff", "uv add --dev ruff"),
        (
            &[("uv.lock", ""), ("pyproject.toml", "dev = [\"ruff\"]")],
            Home::Python,
            "ruff",
            "uv sync --all-groups",
        ),
        // Its settings do not bring it.
        (
            &[("pyproject.toml", "[tool.uv]\n\n[tool.ruff.lint]\nselect = [\"ruff\"]\n")],
            Home::Python,
            "ruff",
            "uv add --dev ruff",
        ),
        (
            &[("pyproject.toml", "[tool.poetry.group.dev.dependencies]\nruff = \"^0.5\"\n")],
            Home::Python,
            "ruff",
            "poetry install",
        ),
        (
            &[("pyproject.toml", "[tool.poetry]")],
            Home::Python,
            "mypy",
            "poetry add --group dev mypy",
        ),
        (&[], Home::Python, "mypy", "python3 -m venv .venv && .venv/bin/pip install mypy"),
        (&[("package.json", "{}"), ("yarn.lock", "")], Home::Node, "jest", "yarn add --dev jest"),
        (
            &[("package.json", r#"{"devDependencies":{"jest":"1"}}"#)],
            Home::Node,
            "jest",
            "npm install",
        ),
        (&[("package.json", "{}")], Home::Node, "jest", "npm install --save-dev jest"),
        (&[], Home::Rustup, "clippy", "rustup component add clippy"),
        (&[], Home::System, "shellcheck", "apt-get install -y shellcheck"),
    ];
    for (files, home, package, command) in cases {
        assert_eq!(install(&project(files), home, package), command, "{files:?}");
    }
}

#[test]
fn an_environment_of_the_project_is_used() {
    let mut survey = project(&[("requirements.txt", "")]);
    survey.folders[0].bins.push(("/w/.venv/bin".into(), ["pip".to_owned()].into()));
    assert_eq!(install(&survey, Home::Python, "ruff"), "/w/.venv/bin/pip install ruff");
    survey.programs.insert("apk".to_owned(), "/sbin/apk".into());
    assert_eq!(install(&survey, Home::System, "make"), "apk add make");
}
