//! Table of formatters.

use super::{CheckCommand, CodeFormatter, FormatStyle, FormatterDefault, UnformattedFiles};
use crate::CheckOutput;
use crate::install::PackageSource;
use crate::lines::parse_located;

const PYTHON_PATTERNS: &[&str] = &["py", "pyi"];
const PYTHON_ROOTS: &[&str] = &["pyproject.toml", "setup.cfg", "ruff.toml", ".ruff.toml"];
const WEB_PATTERNS: &[&str] = &[
    "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "css", "scss", "less", "json", "jsonc",
    "html", "vue", "md", "yaml", "yml", "graphql",
];

fn to_args(fixed: &[&str]) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).collect()
}

fn args_with(fixed: &[&str], last: &str) -> Vec<String> {
    let mut all = to_args(fixed);
    all.push(last.to_owned());
    all
}

fn edition_args(style: &FormatStyle) -> Vec<String> {
    vec!["--edition".to_owned(), style.edition.clone().unwrap_or_else(|| "2021".to_owned())]
}

/// All formatters; those for the same files are in order of preference.
pub static FORMATTERS: &[CodeFormatter] = &[
    CodeFormatter {
        name: "black",
        program: "black",
        file_patterns: PYTHON_PATTERNS,
        is_configured: |dir| {
            dir.has_table("pyproject.toml", &["tool", "black"]) || dir.requires("black")
        },
        root_markers: PYTHON_ROOTS,
        check: Some(CheckCommand {
            args: |_, target, _| args_with(&["--check", "--no-color"], target),
            write_args: &["--quiet"],
            parse: parse_black,
        }),
        filter_args: |_, file| {
            vec!["--quiet".into(), "--stdin-filename".into(), file.into(), "-".into()]
        },
        default_use: FormatterDefault::IfInstalled,
        source: PackageSource::Python,
        package: "black",
    },
    CodeFormatter {
        name: "ruff",
        program: "ruff",
        file_patterns: PYTHON_PATTERNS,
        is_configured: |dir| {
            dir.has_table("pyproject.toml", &["tool", "ruff"])
                || dir.names.contains("ruff.toml")
                || dir.names.contains(".ruff.toml")
        },
        root_markers: PYTHON_ROOTS,
        check: Some(CheckCommand {
            args: |_, target, _| args_with(&["format", "--check", "--no-cache"], target),
            write_args: &["format", "--quiet", "--no-cache"],
            parse: parse_ruff,
        }),
        filter_args: |_, file| {
            let fixed = ["format", "--quiet", "--no-cache", "--stdin-filename"];
            let mut all = args_with(&fixed, file);
            all.push("-".to_owned());
            all
        },
        default_use: FormatterDefault::Expected,
        source: PackageSource::Python,
        package: "ruff",
    },
    CodeFormatter {
        name: "biome",
        program: "biome",
        file_patterns: &[
            "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "json", "jsonc", "css",
        ],
        is_configured: |dir| dir.names.contains("biome.json") || dir.names.contains("biome.jsonc"),
        root_markers: &["biome.json", "biome.jsonc"],
        check: None,
        filter_args: |_, file| vec!["format".into(), format!("--stdin-file-path={file}")],
        default_use: FormatterDefault::OnRequest,
        source: PackageSource::Node,
        package: "@biomejs/biome",
    },
    CodeFormatter {
        name: "prettier",
        program: "prettier",
        file_patterns: WEB_PATTERNS,
        is_configured: |dir| {
            dir.has_prefix(".prettierrc")
                || dir.has_prefix("prettier.config.")
                || dir.depends_on("prettier")
                || dir.package_json().is_some_and(|manifest| manifest.get("prettier").is_some())
        },
        root_markers: &["package.json"],
        check: Some(CheckCommand {
            args: |_, target, _| {
                let fixed = [
                    "--list-different",
                    "--ignore-unknown",
                    "--no-error-on-unmatched-pattern",
                    "--no-color",
                ];
                args_with(&fixed, target)
            },
            write_args: &["--write", "--log-level=warn", "--no-color"],
            parse: parse_prettier,
        }),
        filter_args: |_, file| vec!["--stdin-filepath".into(), file.into()],
        default_use: FormatterDefault::OnRequest,
        source: PackageSource::Node,
        package: "prettier",
    },
    CodeFormatter {
        name: "rustfmt",
        program: "rustfmt",
        file_patterns: &["rs"],
        is_configured: |dir| {
            ["Cargo.toml", "rustfmt.toml", ".rustfmt.toml"]
                .iter()
                .any(|name| dir.names.contains(*name))
        },
        root_markers: &["rustfmt.toml", ".rustfmt.toml", "Cargo.toml"],
        check: Some(CheckCommand {
            args: |style, _, files| {
                let mut all = edition_args(style);
                all.extend(to_args(&["--check", "-l", "--color=never"]));
                all.extend_from_slice(files);
                all
            },
            // rustfmt would follow `mod` declarations to other files.
            write_args: &[],
            parse: parse_rustfmt,
        }),
        filter_args: |style, _| {
            let mut all = edition_args(style);
            all.push("--quiet".to_owned());
            all
        },
        default_use: FormatterDefault::Expected,
        source: PackageSource::Rustup,
        package: "rustfmt",
    },
    CodeFormatter {
        name: "gofmt",
        program: "gofmt",
        file_patterns: &["go"],
        is_configured: |dir| dir.names.contains("go.mod"),
        root_markers: &["go.mod"],
        check: Some(CheckCommand {
            args: |_, target, _| args_with(&["-l"], target),
            write_args: &["-w"],
            parse: parse_file_list,
        }),
        filter_args: |_, _| Vec::new(),
        default_use: FormatterDefault::Expected,
        source: PackageSource::System,
        package: "golang-go",
    },
    CodeFormatter {
        name: "shfmt",
        program: "shfmt",
        file_patterns: &["sh", "bash"],
        is_configured: |_| false,
        root_markers: &[],
        check: Some(CheckCommand {
            args: |_, target, _| args_with(&["-l"], target),
            write_args: &["-w"],
            parse: parse_file_list,
        }),
        filter_args: |_, file| vec!["-filename".into(), file.into(), "-".into()],
        default_use: FormatterDefault::IfInstalled,
        source: PackageSource::System,
        package: "shfmt",
    },
    CodeFormatter {
        name: "clang-format",
        program: "clang-format",
        file_patterns: &["c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm", "proto", "java"],
        is_configured: |dir| {
            dir.names.contains(".clang-format") || dir.names.contains("_clang-format")
        },
        root_markers: &[".clang-format", "_clang-format"],
        check: None,
        filter_args: |_, file| vec![format!("--assume-filename={file}")],
        default_use: FormatterDefault::OnRequest,
        source: PackageSource::System,
        package: "clang-format",
    },
    CodeFormatter {
        name: "taplo",
        program: "taplo",
        file_patterns: &["toml"],
        is_configured: |dir| dir.names.contains("taplo.toml") || dir.names.contains(".taplo.toml"),
        root_markers: &["taplo.toml", ".taplo.toml"],
        check: None,
        filter_args: |_, file| vec!["fmt".into(), format!("--stdin-filepath={file}"), "-".into()],
        default_use: FormatterDefault::OnRequest,
        source: PackageSource::Cargo,
        package: "taplo-cli",
    },
];

fn parse_black(said: &CheckOutput<'_>) -> UnformattedFiles {
    let mut listed = UnformattedFiles::default();
    for line in said.stderr.lines() {
        if let Some(file) = line.strip_prefix("would reformat ") {
            listed.files.push(file.to_owned());
        } else if let Some((file, why)) =
            line.strip_prefix("error: cannot format ").and_then(|line| line.split_once(": "))
        {
            listed.unparsable.push((file.to_owned(), why.to_owned()));
        } else if let Some(place) =
            line.strip_prefix("error: cannot parse: ").and_then(parse_located)
        {
            let at = place.numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(":");
            listed.unparsable.push((place.file.to_owned(), format!("cannot parse: {at}")));
        }
    }
    listed
}

/// Older versions print one line per file; newer ones print the diff, with the
/// file after an arrow above it.
fn parse_ruff(said: &CheckOutput<'_>) -> UnformattedFiles {
    let mut listed = UnformattedFiles::default();
    let mut is_next = None;
    for line in said.stdout.lines() {
        if let Some(file) = line.strip_prefix("Would reformat: ") {
            listed.files.push(file.to_owned());
        } else if line.starts_with("unformatted:") {
            is_next = Some(None);
        } else if let Some(why) = line.strip_prefix("invalid-syntax: ") {
            is_next = Some(Some(why.to_owned()));
        } else if let Some((_, place)) =
            line.split_once("--> ").filter(|(before, _)| before.trim().is_empty())
        {
            let file = parse_located(place).map_or(place, |place| place.file).to_owned();
            match is_next.take() {
                Some(None) => listed.files.push(file),
                Some(Some(why)) => listed.unparsable.push((file, why)),
                None => {}
            }
        }
    }
    for line in said.stderr.lines() {
        let Some(rest) = line.strip_prefix("error: Failed to parse ") else { continue };
        if let Some(place) = parse_located(rest) {
            listed.unparsable.push((place.file.to_owned(), place.rest.to_owned()));
        }
    }
    listed
}

fn parse_prettier(said: &CheckOutput<'_>) -> UnformattedFiles {
    let files = said.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let broken = said.stderr.lines().filter_map(|line| {
        let (file, why) = line.strip_prefix("[error] ")?.split_once(": ")?;
        why.contains("Error").then(|| (file.to_owned(), why.to_owned()))
    });
    UnformattedFiles { files, unparsable: broken.collect() }
}

/// One file name per line on stdout; parse errors on stderr.
fn parse_file_list(said: &CheckOutput<'_>) -> UnformattedFiles {
    let files = said.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let broken = said.stderr.lines().filter_map(parse_located);
    let broken = broken.map(|place| (place.file.to_owned(), place.rest.to_owned())).collect();
    UnformattedFiles { files, unparsable: broken }
}

fn parse_rustfmt(said: &CheckOutput<'_>) -> UnformattedFiles {
    let files = said.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let mut broken = Vec::new();
    let mut why = "";
    for line in said.stderr.lines() {
        if let Some(message) = line.strip_prefix("error: ") {
            why = message;
        } else if let Some(place) = line.trim_start().strip_prefix("--> ") {
            let file = parse_located(place).map_or(place, |place| place.file).to_owned();
            broken.push((file, why.to_owned()));
        }
    }
    broken.dedup();
    UnformattedFiles { files, unparsable: broken }
}
