//! Table of linters.

use super::{FixMethod, LintTask, Linter, LinterDefault, edits, json, text};
use crate::install::PackageSource;
use crate::survey::ProjectDir;

const PYTHON_PATTERNS: &[&str] = &["py", "pyi"];
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
const JS_PATTERNS: &[&str] =
    &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"];
const TS_PATTERNS: &[&str] = &["ts", "tsx", "mts", "cts"];

fn with_targets(fixed: &[&str], task: &LintTask) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).chain(task.targets.iter().cloned()).collect()
}

fn to_args(fixed: &[&str]) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).collect()
}

fn with_files(fixed: &[&str], task: &LintTask) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).chain(task.files.iter().cloned()).collect()
}

fn has_any(dir: &ProjectDir, names: &[&str]) -> bool {
    names.iter().any(|name| dir.names.contains(*name))
}

fn has_pyproject_tool(dir: &ProjectDir, tool: &str) -> bool {
    dir.has_table("pyproject.toml", &["tool", tool])
}

/// Whether the project configuration selects the files that a linter checks.
pub(super) fn configures_files(linter: &str, dir: &ProjectDir) -> bool {
    match linter {
        "mypy" => {
            let names = ["files", "packages", "modules"];
            let table = |name: &&str| dir.has_table("pyproject.toml", &["tool", "mypy", name]);
            let files = ["mypy.ini", ".mypy.ini", "setup.cfg"];
            names.iter().any(table)
                || files.iter().any(|file| dir.has_setting(file, "mypy", &names))
        }
        "pyright" => has_any(dir, &["pyrightconfig.json"]) || has_pyproject_tool(dir, "pyright"),
        _ => false,
    }
}

/// Whether `package.json` has this key.
fn has_package_key(dir: &ProjectDir, key: &str) -> bool {
    dir.package_json().is_some_and(|manifest| manifest.get(key).is_some())
}

/// All linters; those for the same files are in order of preference.
pub static LINTERS: &[Linter] = &[
    Linter {
        name: "ruff",
        program: "ruff",
        file_patterns: PYTHON_PATTERNS,
        is_configured: |dir| {
            has_pyproject_tool(dir, "ruff")
                || has_any(dir, &["ruff.toml", ".ruff.toml"])
                || dir.requires("ruff")
        },
        root_markers: PYTHON_ROOTS,
        args: |task| {
            with_targets(&["check", "--output-format=json", "--no-cache", "--quiet"], task)
        },
        fix_method: Some(FixMethod::Command(|task| {
            with_targets(&["check", "--fix", "--no-cache", "--quiet", "--exit-zero"], task)
        })),
        parse: json::ruff,
        is_whole_project: false,
        default_use: LinterDefault::Expected,
        source: PackageSource::Python,
        package: "ruff",
    },
    Linter {
        name: "flake8",
        program: "flake8",
        file_patterns: PYTHON_PATTERNS,
        is_configured: |dir| {
            has_any(dir, &[".flake8"])
                || dir.has_section("setup.cfg", "flake8")
                || dir.has_section("tox.ini", "flake8")
        },
        root_markers: PYTHON_ROOTS,
        args: |task| with_targets(&["--color=never", "--format=default"], task),
        fix_method: None,
        parse: text::flake8,
        is_whole_project: false,
        default_use: LinterDefault::IfInstalled,
        source: PackageSource::Python,
        package: "flake8",
    },
    Linter {
        name: "pylint",
        program: "pylint",
        file_patterns: PYTHON_PATTERNS,
        is_configured: |dir| {
            has_any(dir, &[".pylintrc", "pylintrc"]) || has_pyproject_tool(dir, "pylint")
        },
        root_markers: PYTHON_ROOTS,
        args: |task| with_targets(&["--output-format=json", "--recursive=y", "--score=n"], task),
        fix_method: None,
        parse: json::pylint,
        is_whole_project: false,
        default_use: LinterDefault::IfInstalled,
        source: PackageSource::Python,
        package: "pylint",
    },
    Linter {
        name: "mypy",
        program: "mypy",
        file_patterns: PYTHON_PATTERNS,
        is_configured: |dir| {
            has_any(dir, &["mypy.ini", ".mypy.ini"])
                || has_pyproject_tool(dir, "mypy")
                || dir.has_section("setup.cfg", "mypy")
        },
        root_markers: PYTHON_ROOTS,
        args: |task| {
            let fixed = [
                "--show-column-numbers",
                "--show-error-end",
                "--show-error-codes",
                "--no-error-summary",
                "--no-color-output",
                "--no-pretty",
            ];
            with_targets(&fixed, task)
        },
        fix_method: None,
        parse: text::mypy,
        is_whole_project: true,
        default_use: LinterDefault::OnRequest,
        source: PackageSource::Python,
        package: "mypy",
    },
    Linter {
        name: "pyright",
        program: "pyright",
        file_patterns: PYTHON_PATTERNS,
        is_configured: |dir| {
            has_any(dir, &["pyrightconfig.json"]) || has_pyproject_tool(dir, "pyright")
        },
        root_markers: PYTHON_ROOTS,
        args: |task| with_targets(&["--outputjson"], task),
        fix_method: None,
        parse: json::pyright,
        is_whole_project: false,
        default_use: LinterDefault::OnRequest,
        source: PackageSource::Python,
        package: "pyright",
    },
    Linter {
        name: "biome",
        program: "biome",
        file_patterns: JS_PATTERNS,
        is_configured: |dir| has_any(dir, &["biome.json", "biome.jsonc"]),
        root_markers: &["biome.json", "biome.jsonc", "package.json"],
        args: |task| {
            with_targets(
                &["lint", "--reporter=github", "--colors=off", "--max-diagnostics=1000"],
                task,
            )
        },
        fix_method: Some(FixMethod::Command(|task| {
            with_targets(&["lint", "--write", "--colors=off"], task)
        })),
        parse: text::biome,
        is_whole_project: false,
        default_use: LinterDefault::OnRequest,
        source: PackageSource::Node,
        package: "@biomejs/biome",
    },
    Linter {
        name: "eslint",
        program: "eslint",
        file_patterns: JS_PATTERNS,
        is_configured: |dir| {
            dir.has_prefix("eslint.config.")
                || dir.has_prefix(".eslintrc")
                || has_package_key(dir, "eslintConfig")
        },
        root_markers: &["package.json"],
        args: |task| with_targets(&["--format=json", "--no-error-on-unmatched-pattern"], task),
        fix_method: Some(FixMethod::Command(|task| {
            with_targets(&["--fix", "--format=json", "--no-error-on-unmatched-pattern"], task)
        })),
        parse: json::eslint,
        is_whole_project: false,
        default_use: LinterDefault::OnRequest,
        source: PackageSource::Node,
        package: "eslint",
    },
    Linter {
        name: "tsc",
        program: "tsc",
        file_patterns: TS_PATTERNS,
        is_configured: |dir| has_any(dir, &["tsconfig.json"]),
        root_markers: &["tsconfig.json"],
        args: |_| to_args(&["--noEmit", "--pretty", "false"]),
        fix_method: None,
        parse: text::tsc,
        is_whole_project: true,
        default_use: LinterDefault::OnRequest,
        source: PackageSource::Node,
        package: "typescript",
    },
    Linter {
        name: "stylelint",
        program: "stylelint",
        file_patterns: &["css", "scss", "sass", "less"],
        is_configured: |dir| {
            dir.has_prefix(".stylelintrc")
                || dir.has_prefix("stylelint.config.")
                || has_package_key(dir, "stylelint")
        },
        root_markers: &["package.json"],
        args: |task| with_files(&["--formatter=json"], task),
        fix_method: Some(FixMethod::Command(|task| {
            with_files(&["--fix", "--formatter=json"], task)
        })),
        parse: json::stylelint,
        is_whole_project: false,
        default_use: LinterDefault::OnRequest,
        source: PackageSource::Node,
        package: "stylelint",
    },
    Linter {
        name: "clippy",
        program: "cargo",
        file_patterns: &["rs"],
        is_configured: |dir| has_any(dir, &["Cargo.toml"]),
        root_markers: &["Cargo.toml"],
        args: |_| to_args(&["clippy", "--all-targets", "--quiet", "--message-format=json"]),
        fix_method: Some(FixMethod::Edits(edits::parse_cargo_edits)),
        parse: json::cargo,
        is_whole_project: true,
        default_use: LinterDefault::Expected,
        source: PackageSource::Rustup,
        package: "clippy",
    },
    Linter {
        name: "golangci-lint",
        program: "golangci-lint",
        file_patterns: &["go"],
        is_configured: |dir| dir.has_prefix(".golangci."),
        root_markers: &["go.mod"],
        args: |_| to_args(&["run", "./..."]),
        fix_method: Some(FixMethod::Command(|_| to_args(&["run", "--fix", "./..."]))),
        parse: text::golangci,
        is_whole_project: true,
        default_use: LinterDefault::OnRequest,
        source: PackageSource::Go,
        package: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint",
    },
    Linter {
        name: "go-vet",
        program: "go",
        file_patterns: &["go"],
        is_configured: |dir| has_any(dir, &["go.mod"]),
        root_markers: &["go.mod"],
        args: |_| to_args(&["vet", "./..."]),
        fix_method: None,
        parse: text::go_vet,
        is_whole_project: true,
        default_use: LinterDefault::Expected,
        source: PackageSource::System,
        package: "golang-go",
    },
    Linter {
        name: "shellcheck",
        program: "shellcheck",
        file_patterns: &["sh", "bash", "ksh", "bats"],
        is_configured: |dir| has_any(dir, &[".shellcheckrc"]),
        root_markers: &[],
        args: |task| with_files(&["--format=json1", "--"], task),
        fix_method: None,
        parse: json::shellcheck,
        is_whole_project: false,
        default_use: LinterDefault::Expected,
        source: PackageSource::System,
        package: "shellcheck",
    },
    Linter {
        name: "hadolint",
        program: "hadolint",
        file_patterns: &["=Dockerfile", "=Containerfile", "dockerfile"],
        is_configured: |dir| has_any(dir, &[".hadolint.yaml", ".hadolint.yml"]),
        root_markers: &[],
        args: |task| with_files(&["--format", "json", "--no-fail"], task),
        fix_method: None,
        parse: json::hadolint,
        is_whole_project: false,
        default_use: LinterDefault::IfInstalled,
        source: PackageSource::System,
        package: "hadolint",
    },
    Linter {
        name: "yamllint",
        program: "yamllint",
        file_patterns: &["yaml", "yml"],
        is_configured: |dir| has_any(dir, &[".yamllint", ".yamllint.yaml", ".yamllint.yml"]),
        root_markers: &[".yamllint", ".yamllint.yaml", ".yamllint.yml"],
        args: |task| with_targets(&["--format=parsable"], task),
        fix_method: None,
        parse: text::yamllint,
        is_whole_project: false,
        default_use: LinterDefault::OnRequest,
        source: PackageSource::Python,
        package: "yamllint",
    },
    Linter {
        name: "markdownlint",
        program: "markdownlint-cli2",
        file_patterns: &["md", "markdown"],
        is_configured: |dir| dir.has_prefix(".markdownlint"),
        root_markers: &[],
        args: |task| with_files(&[], task),
        fix_method: Some(FixMethod::Command(|task| with_files(&["--fix"], task))),
        parse: text::markdownlint,
        is_whole_project: false,
        default_use: LinterDefault::OnRequest,
        source: PackageSource::Node,
        package: "markdownlint-cli2",
    },
];
