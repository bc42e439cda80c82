use super::*;
use crate::survey::ProjectDir;

type Files<'a> = &'a [(&'a str, &'a str)];

fn project(files: &[(&str, &str)]) -> ProjectSurvey {
    let mut dir = ProjectDir { path: "/w".into(), ..ProjectDir::default() };
    for (name, text) in files {
        dir.names.insert((*name).to_owned());
        dir.texts.insert((*name).to_owned(), (*text).to_owned());
    }
    ProjectSurvey { path: "/w".into(), dirs: vec![dir], ..ProjectSurvey::default() }
}

#[test]
fn the_projects_manager_installs_it() {
    let cases: [(Files<'_>, PackageSource, &str, &str); 11] = [
        (
            &[("uv.lock", ""), ("pyproject.toml", "")],
            PackageSource::Python,
            "ruff",
            "uv add --dev ruff",
        ),
        (
            &[("uv.lock", ""), ("pyproject.toml", "dev = [\"ruff\"]")],
            PackageSource::Python,
            "ruff",
            "uv sync --all-groups",
        ),
        // Its settings do not bring it.
        (
            &[("pyproject.toml", "[tool.uv]\n\n[tool.ruff.lint]\nselect = [\"ruff\"]\n")],
            PackageSource::Python,
            "ruff",
            "uv add --dev ruff",
        ),
        (
            &[("pyproject.toml", "[tool.poetry.group.dev.dependencies]\nruff = \"^0.5\"\n")],
            PackageSource::Python,
            "ruff",
            "poetry install",
        ),
        (
            &[("pyproject.toml", "[tool.poetry]")],
            PackageSource::Python,
            "mypy",
            "poetry add --group dev mypy",
        ),
        (&[], PackageSource::Python, "mypy", "python3 -m venv .venv && .venv/bin/pip install mypy"),
        (
            &[("package.json", "{}"), ("yarn.lock", "")],
            PackageSource::Node,
            "jest",
            "yarn add --dev jest",
        ),
        (
            &[("package.json", r#"{"devDependencies":{"jest":"1"}}"#)],
            PackageSource::Node,
            "jest",
            "npm install",
        ),
        (&[("package.json", "{}")], PackageSource::Node, "jest", "npm install --save-dev jest"),
        (&[], PackageSource::Rustup, "clippy", "rustup component add clippy"),
        (&[], PackageSource::System, "shellcheck", "apt-get install -y shellcheck"),
    ];
    for (files, home, package, command) in cases {
        assert_eq!(install_command(&project(files), home, package), command, "{files:?}");
    }
}

#[test]
fn an_environment_of_the_project_is_used() {
    let mut survey = project(&[("requirements.txt", "")]);
    survey.dirs[0].bins.push(("/w/.venv/bin".into(), ["pip".to_owned()].into()));
    assert_eq!(
        install_command(&survey, PackageSource::Python, "ruff"),
        "/w/.venv/bin/pip install ruff"
    );
    survey.programs.insert("apk".to_owned(), "/sbin/apk".into());
    assert_eq!(install_command(&survey, PackageSource::System, "make"), "apk add make");
}
