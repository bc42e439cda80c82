//! Commands that install a missing tool with the project's package manager.

use crate::survey::ProjectSurvey;

/// Where a tool is installed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageSource {
    /// The Python package index.
    Python,
    /// The npm registry.
    Node,
    /// A component of the Rust toolchain.
    Rustup,
    /// A program from crates.io.
    Cargo,
    /// A Go module.
    Go,
    /// The system package manager.
    System,
}

/// Returns the command that installs a package.
pub fn install_command(survey: &ProjectSurvey, home: PackageSource, package: &str) -> String {
    match home {
        PackageSource::Python => python_install(survey, package),
        PackageSource::Node => node_install(survey, package),
        PackageSource::Rustup => format!("rustup component add {package}"),
        PackageSource::Cargo => format!("cargo install {package} --locked"),
        PackageSource::Go => format!("go install {package}@latest"),
        PackageSource::System => system_install(survey, package),
    }
}

fn python_install(survey: &ProjectSurvey, package: &str) -> String {
    let marks = [
        "pyproject.toml",
        "uv.lock",
        "poetry.lock",
        "pdm.lock",
        "Pipfile",
        "requirements.txt",
        "setup.py",
        "setup.cfg",
    ];
    if let Some(dir) = survey.nearest(&marks) {
        let is_known = dir.declares(package);
        let has = |name: &str| dir.names.contains(name);
        let is_managed = |tool: &str| dir.has_table("pyproject.toml", &["tool", tool]);
        let named = [
            (has("uv.lock") || is_managed("uv"), "uv sync --all-groups", "uv add --dev"),
            (
                has("poetry.lock") || is_managed("poetry"),
                "poetry install",
                "poetry add --group dev",
            ),
            (has("pdm.lock") || is_managed("pdm"), "pdm install --dev", "pdm add --dev"),
            (has("Pipfile"), "pipenv install --dev", "pipenv install --dev"),
        ];
        if let Some((_, all, one)) = named.into_iter().find(|(is_it, ..)| *is_it) {
            return if is_known { all.to_owned() } else { format!("{one} {package}") };
        }
    }
    let own = survey.dirs.iter().flat_map(|dir| &dir.bins);
    let own = own.chain(&survey.active_env).find(|(_, names)| names.contains("pip"));
    if let Some((dir, _)) = own {
        return format!("{} install {package}", dir.join("pip").display());
    }
    if survey.programs.contains_key("uv") {
        return format!("uv venv && uv pip install {package}");
    }
    format!("python3 -m venv .venv && .venv/bin/pip install {package}")
}

fn node_install(survey: &ProjectSurvey, package: &str) -> String {
    let Some(dir) = survey.nearest(&["package.json"]) else {
        return format!("npm install --save-dev {package}");
    };
    let locked = survey.nearest(&[
        "pnpm-lock.yaml",
        "yarn.lock",
        "bun.lock",
        "bun.lockb",
        "package-lock.json",
    ]);
    let has = |name: &str| locked.is_some_and(|dir| dir.names.contains(name));
    let (all, one) = if has("pnpm-lock.yaml") {
        ("pnpm install", "pnpm add --save-dev")
    } else if has("yarn.lock") {
        ("yarn install", "yarn add --dev")
    } else if has("bun.lock") || has("bun.lockb") {
        ("bun install", "bun add --dev")
    } else {
        ("npm install", "npm install --save-dev")
    };
    if dir.depends_on(package) { all.to_owned() } else { format!("{one} {package}") }
}

fn system_install(survey: &ProjectSurvey, package: &str) -> String {
    let managers = [
        ("apt-get", "apt-get install -y"),
        ("dnf", "dnf install -y"),
        ("apk", "apk add"),
        ("pacman", "pacman -S --noconfirm"),
        ("brew", "brew install"),
    ];
    let found = managers.iter().find(|(program, _)| survey.programs.contains_key(*program));
    format!("{} {package}", found.map_or("apt-get install -y", |(_, command)| command))
}

#[cfg(test)]
#[path = "install_tests.rs"]
mod tests;
