//! All linters.

use super::{Fixes, Linter, Task, Usual, edits, json, text};
use crate::install::Home;
use crate::survey::Folder;

const PYTHON: &[&str] = &["py", "pyi"];
const PYTHON_ROOTS: &[&str] = &[
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "setup.py",
    "ruff.toml",
    ".ruff.toml",
    ".flake8",
    "mypy.ini",
    ".mypy.ini",
    "pyrightconfig.json",
    ".pylintrc",
    "pylintrc",
];
const SCRIPT: &[&str] = &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"];
const TYPED: &[&str] = &["ts", "tsx", "mts", "cts"];

fn words(fixed: &[&str], task: &Task) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).chain(task.targets.iter().cloned()).collect()
}

fn alone(fixed: &[&str]) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).collect()
}

fn named(fixed: &[&str], task: &Task) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).chain(task.files.iter().cloned()).collect()
}

fn has_any(folder: &Folder, names: &[&str]) -> bool {
    names.iter().any(|name| folder.names.contains(*name))
}

fn python_tool(folder: &Folder, tool: &str) -> bool {
    folder.has_table("pyproject.toml", &["tool", tool])
}

/// Whether the settings of a project say which files a linter is to look at.
pub(super) fn names_files(linter: &str, folder: &Folder) -> bool {
    match linter {
        "mypy" => {
            let names = ["files", "packages", "modules"];
            let table = |name: &&str| folder.has_table("pyproject.toml", &["tool", "mypy", name]);
            let files = ["mypy.ini", ".mypy.ini", "setup.cfg"];
            names.iter().any(table)
                || files.iter().any(|file| folder.has_setting(file, "mypy", &names))
        }
        "pyright" => has_any(folder, &["pyrightconfig.json"]) || python_tool(folder, "pyright"),
        _ => false,
    }
}

/// `package.json` has such a key.
fn has_key(folder: &Folder, key: &str) -> bool {
    folder.package().is_some_and(|manifest| manifest.get(key).is_some())
}

/// All linters, those for the same files in the order in which one would be
/// taken.
pub static LINTERS: &[Linter] = &[
    Linter {
        name: "ruff",
        program: "ruff",
        endings: PYTHON,
        marked: |folder| {
            python_tool(folder, "ruff")
                || has_any(folder, &["ruff.toml", ".ruff.toml"])
                || folder.requires("ruff")
        },
        roots: PYTHON_ROOTS,
        words: |task| words(&["check", "--output-format=json", "--no-cache", "--quiet"], task),
        fixes: Some(Fixes::Words(|task| {
            words(&["check", "--fix", "--no-cache", "--quiet", "--exit-zero"], task)
        })),
        read: json::ruff,
        is_whole: false,
        usual: Usual::Expected,
        home: Home::Python,
        package: "ruff",
    },
    Linter {
        name: "flake8",
        program: "flake8",
        endings: PYTHON,
        marked: |folder| {
            has_any(folder, &[".flake8"])
                || folder.has_section("setup.cfg", "flake8")
                || folder.has_section("tox.ini", "flake8")
        },
        roots: PYTHON_ROOTS,
        words: |task| words(&["--color=never", "--format=default"], task),
        fixes: None,
        read: text::flake8,
        is_whole: false,
        usual: Usual::IfThere,
        home: Home::Python,
        package: "flake8",
    },
    Linter {
        name: "pylint",
        program: "pylint",
        endings: PYTHON,
        marked: |folder| {
            has_any(folder, &[".pylintrc", "pylintrc"]) || python_tool(folder, "pylint")
        },
        roots: PYTHON_ROOTS,
        words: |task| words(&["--output-format=json", "--recursive=y", "--score=n"], task),
        fixes: None,
        read: json::pylint,
        is_whole: false,
        usual: Usual::IfThere,
        home: Home::Python,
        package: "pylint",
    },
    Linter {
        name: "mypy",
        program: "mypy",
        endings: PYTHON,
        marked: |folder| {
            has_any(folder, &["mypy.ini", ".mypy.ini"])
                || python_tool(folder, "mypy")
                || folder.has_section("setup.cfg", "mypy")
        },
        roots: PYTHON_ROOTS,
        words: |task| {
            let fixed = [
                "--show-column-numbers",
                "--show-error-end",
                "--show-error-codes",
                "--no-error-summary",
                "--no-color-output",
                "--no-pretty",
            ];
            words(&fixed, task)
        },
        fixes: None,
        read: text::mypy,
        is_whole: true,
        usual: Usual::Never,
        home: Home::Python,
        package: "mypy",
    },
    Linter {
        name: "pyright",
        program: "pyright",
        endings: PYTHON,
        marked: |folder| has_any(folder, &["pyrightconfig.json"]) || python_tool(folder, "pyright"),
        roots: PYTHON_ROOTS,
        words: |task| words(&["--outputjson"], task),
        fixes: None,
        read: json::pyright,
        is_whole: false,
        usual: Usual::Never,
        home: Home::Python,
        package: "pyright",
    },
    Linter {
        name: "biome",
        program: "biome",
        endings: SCRIPT,
        marked: |folder| has_any(folder, &["biome.json", "biome.jsonc"]),
        roots: &["biome.json", "biome.jsonc", "package.json"],
        words: |task| {
            words(&["lint", "--reporter=github", "--colors=off", "--max-diagnostics=1000"], task)
        },
        fixes: Some(Fixes::Words(|task| words(&["lint", "--write", "--colors=off"], task))),
        read: text::biome,
        is_whole: false,
        usual: Usual::Never,
        home: Home::Node,
        package: "@biomejs/biome",
    },
    Linter {
        name: "eslint",
        program: "eslint",
        endings: SCRIPT,
        marked: |folder| {
            folder.has_prefix("eslint.config.")
                || folder.has_prefix(".eslintrc")
                || has_key(folder, "eslintConfig")
        },
        roots: &["package.json"],
        words: |task| words(&["--format=json", "--no-error-on-unmatched-pattern"], task),
        fixes: Some(Fixes::Words(|task| {
            words(&["--fix", "--format=json", "--no-error-on-unmatched-pattern"], task)
        })),
        read: json::eslint,
        is_whole: false,
        usual: Usual::Never,
        home: Home::Node,
        package: "eslint",
    },
    Linter {
        name: "tsc",
        program: "tsc",
        endings: TYPED,
        marked: |folder| has_any(folder, &["tsconfig.json"]),
        roots: &["tsconfig.json"],
        words: |_| alone(&["--noEmit", "--pretty", "false"]),
        fixes: None,
        read: text::tsc,
        is_whole: true,
        usual: Usual::Never,
        home: Home::Node,
        package: "typescript",
    },
    Linter {
        name: "stylelint",
        program: "stylelint",
        endings: &["css", "scss", "sass", "less"],
        marked: |folder| {
            folder.has_prefix(".stylelintrc")
                || folder.has_prefix("stylelint.config.")
                || has_key(folder, "stylelint")
        },
        roots: &["package.json"],
        words: |task| named(&["--formatter=json"], task),
        fixes: Some(Fixes::Words(|task| named(&["--fix", "--formatter=json"], task))),
        read: json::stylelint,
        is_whole: false,
        usual: Usual::Never,
        home: Home::Node,
        package: "stylelint",
    },
    Linter {
        name: "clippy",
        program: "cargo",
        endings: &["rs"],
        marked: |folder| has_any(folder, &["Cargo.toml"]),
        roots: &["Cargo.toml"],
        words: |_| alone(&["clippy", "--all-targets", "--quiet", "--message-format=json"]),
        fixes: Some(Fixes::Edits(edits::cargo)),
        read: json::cargo,
        is_whole: true,
        usual: Usual::Expected,
        home: Home::Rustup,
        package: "clippy",
    },
    Linter {
        name: "golangci-lint",
        program: "golangci-lint",
        endings: &["go"],
        marked: |folder| folder.has_prefix(".golangci."),
        roots: &["go.mod"],
        words: |_| alone(&["run", "./..."]),
        fixes: Some(Fixes::Words(|_| alone(&["run", "--fix", "./..."]))),
        read: text::golangci,
        is_whole: true,
        usual: Usual::Never,
        home: Home::Go,
        package: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint",
    },
    Linter {
        name: "go-vet",
        program: "go",
        endings: &["go"],
        marked: |folder| has_any(folder, &["go.mod"]),
        roots: &["go.mod"],
        words: |_| alone(&["vet", "./..."]),
        fixes: None,
        read: text::go_vet,
        is_whole: true,
        usual: Usual::Expected,
        home: Home::System,
        package: "golang-go",
    },
    Linter {
        name: "shellcheck",
        program: "shellcheck",
        endings: &["sh", "bash", "ksh", "bats"],
        marked: |folder| has_any(folder, &[".shellcheckrc"]),
        roots: &[],
        words: |task| named(&["--format=json1", "--"], task),
        fixes: None,
        read: json::shellcheck,
        is_whole: false,
        usual: Usual::Expected,
        home: Home::System,
        package: "shellcheck",
    },
    Linter {
        name: "hadolint",
        program: "hadolint",
        endings: &["=Dockerfile", "=Containerfile", "dockerfile"],
        marked: |folder| has_any(folder, &[".hadolint.yaml", ".hadolint.yml"]),
        roots: &[],
        words: |task| named(&["--format", "json", "--no-fail"], task),
        fixes: None,
        read: json::hadolint,
        is_whole: false,
        usual: Usual::IfThere,
        home: Home::System,
        package: "hadolint",
    },
    Linter {
        name: "yamllint",
        program: "yamllint",
        endings: &["yaml", "yml"],
        marked: |folder| has_any(folder, &[".yamllint", ".yamllint.yaml", ".yamllint.yml"]),
        roots: &[".yamllint", ".yamllint.yaml", ".yamllint.yml"],
        words: |task| words(&["--format=parsable"], task),
        fixes: None,
        read: text::yamllint,
        is_whole: false,
        usual: Usual::Never,
        home: Home::Python,
        package: "yamllint",
    },
    Linter {
        name: "markdownlint",
        program: "markdownlint-cli2",
        endings: &["md", "markdown"],
        marked: |folder| folder.has_prefix(".markdownlint"),
        roots: &[],
        words: |task| named(&[], task),
        fixes: Some(Fixes::Words(|task| named(&["--fix"], task))),
        read: text::markdownlint,
        is_whole: false,
        usual: Usual::Never,
        home: Home::Node,
        package: "markdownlint-cli2",
    },
];
