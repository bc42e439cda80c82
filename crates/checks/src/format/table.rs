//! All formatters.

use super::{Formatter, Listed, Listing, Style, Usual};
use crate::Said;
use crate::install::Home;
use crate::lines::placed;

const PYTHON: &[&str] = &["py", "pyi"];
const PYTHON_ROOTS: &[&str] = &["pyproject.toml", "setup.cfg", "ruff.toml", ".ruff.toml"];
const WEB: &[&str] = &[
    "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "css", "scss", "less", "json", "jsonc",
    "html", "vue", "md", "yaml", "yml", "graphql",
];

fn words(fixed: &[&str]) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).collect()
}

fn and(fixed: &[&str], last: &str) -> Vec<String> {
    let mut all = words(fixed);
    all.push(last.to_owned());
    all
}

fn edition(style: &Style) -> Vec<String> {
    vec!["--edition".to_owned(), style.edition.clone().unwrap_or_else(|| "2021".to_owned())]
}

/// All formatters, those for the same files in the order in which one would be
/// taken.
pub static FORMATTERS: &[Formatter] = &[
    Formatter {
        name: "black",
        program: "black",
        endings: PYTHON,
        marked: |folder| {
            folder.has_table("pyproject.toml", &["tool", "black"]) || folder.requires("black")
        },
        roots: PYTHON_ROOTS,
        listing: Some(Listing {
            words: |_, target, _| and(&["--check", "--no-color"], target),
            write: &["--quiet"],
            read: black,
        }),
        filter: |_, file| {
            vec!["--quiet".into(), "--stdin-filename".into(), file.into(), "-".into()]
        },
        usual: Usual::IfThere,
        home: Home::Python,
        package: "black",
    },
    Formatter {
        name: "ruff",
        program: "ruff",
        endings: PYTHON,
        marked: |folder| {
            folder.has_table("pyproject.toml", &["tool", "ruff"])
                || folder.names.contains("ruff.toml")
                || folder.names.contains(".ruff.toml")
        },
        roots: PYTHON_ROOTS,
        listing: Some(Listing {
            words: |_, target, _| and(&["format", "--check", "--no-cache"], target),
            write: &["format", "--quiet", "--no-cache"],
            read: ruff,
        }),
        filter: |_, file| {
            let fixed = ["format", "--quiet", "--no-cache", "--stdin-filename"];
            let mut all = and(&fixed, file);
            all.push("-".to_owned());
            all
        },
        usual: Usual::Expected,
        home: Home::Python,
        package: "ruff",
    },
    Formatter {
        name: "biome",
        program: "biome",
        endings: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "json", "jsonc", "css"],
        marked: |folder| {
            folder.names.contains("biome.json") || folder.names.contains("biome.jsonc")
        },
        roots: &["biome.json", "biome.jsonc"],
        listing: None,
        filter: |_, file| vec!["format".into(), format!("--stdin-file-path={file}")],
        usual: Usual::Never,
        home: Home::Node,
        package: "@biomejs/biome",
    },
    Formatter {
        name: "prettier",
        program: "prettier",
        endings: WEB,
        marked: |folder| {
            folder.has_prefix(".prettierrc")
                || folder.has_prefix("prettier.config.")
                || folder.depends_on("prettier")
                || folder.package().is_some_and(|manifest| manifest.get("prettier").is_some())
        },
        roots: &["package.json"],
        listing: Some(Listing {
            words: |_, target, _| {
                let fixed = [
                    "--list-different",
                    "--ignore-unknown",
                    "--no-error-on-unmatched-pattern",
                    "--no-color",
                ];
                and(&fixed, target)
            },
            write: &["--write", "--log-level=warn", "--no-color"],
            read: prettier,
        }),
        filter: |_, file| vec!["--stdin-filepath".into(), file.into()],
        usual: Usual::Never,
        home: Home::Node,
        package: "prettier",
    },
    Formatter {
        name: "rustfmt",
        program: "rustfmt",
        endings: &["rs"],
        marked: |folder| {
            ["Cargo.toml", "rustfmt.toml", ".rustfmt.toml"]
                .iter()
                .any(|name| folder.names.contains(*name))
        },
        roots: &["rustfmt.toml", ".rustfmt.toml", "Cargo.toml"],
        listing: Some(Listing {
            words: |style, _, files| {
                let mut all = edition(style);
                all.extend(words(&["--check", "-l", "--color=never"]));
                all.extend_from_slice(files);
                all
            },
            // It would follow the modules of a file to others.
            write: &[],
            read: rustfmt,
        }),
        filter: |style, _| {
            let mut all = edition(style);
            all.push("--quiet".to_owned());
            all
        },
        usual: Usual::Expected,
        home: Home::Rustup,
        package: "rustfmt",
    },
    Formatter {
        name: "gofmt",
        program: "gofmt",
        endings: &["go"],
        marked: |folder| folder.names.contains("go.mod"),
        roots: &["go.mod"],
        listing: Some(Listing {
            words: |_, target, _| and(&["-l"], target),
            write: &["-w"],
            read: plain,
        }),
        filter: |_, _| Vec::new(),
        usual: Usual::Expected,
        home: Home::System,
        package: "golang-go",
    },
    Formatter {
        name: "shfmt",
        program: "shfmt",
        endings: &["sh", "bash"],
        marked: |_| false,
        roots: &[],
        listing: Some(Listing {
            words: |_, target, _| and(&["-l"], target),
            write: &["-w"],
            read: plain,
        }),
        filter: |_, file| vec!["-filename".into(), file.into(), "-".into()],
        usual: Usual::IfThere,
        home: Home::System,
        package: "shfmt",
    },
    Formatter {
        name: "clang-format",
        program: "clang-format",
        endings: &["c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm", "proto", "java"],
        marked: |folder| {
            folder.names.contains(".clang-format") || folder.names.contains("_clang-format")
        },
        roots: &[".clang-format", "_clang-format"],
        listing: None,
        filter: |_, file| vec![format!("--assume-filename={file}")],
        usual: Usual::Never,
        home: Home::System,
        package: "clang-format",
    },
    Formatter {
        name: "taplo",
        program: "taplo",
        endings: &["toml"],
        marked: |folder| {
            folder.names.contains("taplo.toml") || folder.names.contains(".taplo.toml")
        },
        roots: &["taplo.toml", ".taplo.toml"],
        listing: None,
        filter: |_, file| vec!["fmt".into(), format!("--stdin-filepath={file}"), "-".into()],
        usual: Usual::Never,
        home: Home::Cargo,
        package: "taplo-cli",
    },
];

fn black(said: &Said<'_>) -> Listed {
    let mut listed = Listed::default();
    for line in said.stderr.lines() {
        if let Some(file) = line.strip_prefix("would reformat ") {
            listed.files.push(file.to_owned());
        } else if let Some((file, why)) =
            line.strip_prefix("error: cannot format ").and_then(|line| line.split_once(": "))
        {
            listed.broken.push((file.to_owned(), why.to_owned()));
        } else if let Some(place) = line.strip_prefix("error: cannot parse: ").and_then(placed) {
            let at = place.numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(":");
            listed.broken.push((place.file.to_owned(), format!("cannot parse: {at}")));
        }
    }
    listed
}

/// Older ones print a line for each file; newer ones show the change, and
/// the file above it behind an arrow.
fn ruff(said: &Said<'_>) -> Listed {
    let mut listed = Listed::default();
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
            let file = placed(place).map_or(place, |place| place.file).to_owned();
            match is_next.take() {
                Some(None) => listed.files.push(file),
                Some(Some(why)) => listed.broken.push((file, why)),
                None => {}
            }
        }
    }
    for line in said.stderr.lines() {
        let Some(rest) = line.strip_prefix("error: Failed to parse ") else { continue };
        if let Some(place) = placed(rest) {
            listed.broken.push((place.file.to_owned(), place.rest.to_owned()));
        }
    }
    listed
}

fn prettier(said: &Said<'_>) -> Listed {
    let files = said.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let broken = said.stderr.lines().filter_map(|line| {
        let (file, why) = line.strip_prefix("[error] ")?.split_once(": ")?;
        why.contains("Error").then(|| (file.to_owned(), why.to_owned()))
    });
    Listed { files, broken: broken.collect() }
}

/// A name in each line; on the error output, what cannot be parsed.
fn plain(said: &Said<'_>) -> Listed {
    let files = said.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let broken = said.stderr.lines().filter_map(placed);
    let broken = broken.map(|place| (place.file.to_owned(), place.rest.to_owned())).collect();
    Listed { files, broken }
}

fn rustfmt(said: &Said<'_>) -> Listed {
    let files = said.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let mut broken = Vec::new();
    let mut why = "";
    for line in said.stderr.lines() {
        if let Some(message) = line.strip_prefix("error: ") {
            why = message;
        } else if let Some(place) = line.trim_start().strip_prefix("--> ") {
            let file = placed(place).map_or(place, |place| place.file).to_owned();
            broken.push((file, why.to_owned()));
        }
    }
    broken.dedup();
    Listed { files, broken }
}
