//! All test runners.

use super::{Runner, go, guess, junit, libtest, nextest, node, script, unittest, words};
use crate::install::Home;
use crate::survey::{Folder, Survey};

/// A sign that says only which language it is.
pub(super) const WEAK: u8 = 1;
/// A sign that there is some way to test.
const SOME: u8 = 2;
/// A sign that it is this runner.
pub(super) const SURE: u8 = 3;
/// A sign that it is this one and not the usual one.
const SPECIAL: u8 = 4;

const PYTHON: &[&str] = &["py"];
pub(super) const SCRIPT: &[&str] = &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"];

/// All runners; of two that are as likely, the first is taken.
pub static RUNNERS: &[Runner] = &[
    Runner {
        name: "pytest",
        program: "pytest",
        endings: PYTHON,
        sign: |folder| {
            let names = ["pytest.ini", ".pytest.ini", "conftest.py"];
            let is_sure = names.iter().any(|name| folder.names.contains(*name))
                || folder.has_table("pyproject.toml", &["tool", "pytest"])
                || folder.has_section("setup.cfg", "tool:pytest")
                || folder.has_section("tox.ini", "pytest")
                || folder.requires("pytest");
            if is_sure { SURE } else { python(folder) }
        },
        words: words::pytest,
        reporting: as_typed,
        reports: true,
        filters: true,
        read: junit::pytest,
        home: Home::Python,
        package: "pytest",
    },
    Runner {
        name: "unittest",
        program: "python3",
        endings: PYTHON,
        sign: python,
        words: words::unittest,
        reporting: unittest::reporting,
        reports: true,
        filters: true,
        read: unittest::read,
        home: Home::System,
        package: "python3",
    },
    Runner {
        name: "tox",
        program: "tox",
        endings: PYTHON,
        sign: |folder| {
            is(
                folder.has_section("tox.ini", "tox") || folder.has_section("tox.ini", "testenv"),
                SOME,
            )
        },
        words: |_| vec!["-q".to_owned()],
        reporting: as_typed,
        reports: false,
        filters: false,
        read: guess::read,
        home: Home::Python,
        package: "tox",
    },
    Runner {
        name: "nox",
        program: "nox",
        endings: PYTHON,
        sign: |folder| is(folder.names.contains("noxfile.py"), SOME),
        words: |_| Vec::new(),
        reporting: as_typed,
        reports: false,
        filters: false,
        read: guess::read,
        home: Home::Python,
        package: "nox",
    },
    Runner {
        name: "nextest",
        program: "cargo",
        endings: &["rs"],
        // Where its settings are.
        sign: |folder| {
            is(folder.names.contains("Cargo.toml") && folder.names.contains(".config"), SPECIAL)
        },
        words: words::nextest,
        reporting: as_typed,
        reports: false,
        filters: true,
        read: nextest::read,
        home: Home::Cargo,
        package: "cargo-nextest",
    },
    Runner {
        name: "cargo",
        program: "cargo",
        endings: &["rs"],
        sign: |folder| is(folder.names.contains("Cargo.toml"), SURE),
        words: words::cargo,
        reporting: as_typed,
        reports: false,
        filters: true,
        read: libtest::read,
        home: Home::System,
        package: "cargo",
    },
    Runner {
        name: "vitest",
        program: "vitest",
        endings: SCRIPT,
        sign: |folder| javascript(folder, "vitest", "vitest.config."),
        words: words::vitest,
        reporting: as_typed,
        reports: true,
        filters: true,
        read: script::vitest,
        home: Home::Node,
        package: "vitest",
    },
    Runner {
        name: "jest",
        program: "jest",
        endings: SCRIPT,
        sign: |folder| javascript(folder, "jest", "jest.config."),
        words: words::jest,
        reporting: as_typed,
        reports: true,
        filters: true,
        read: script::jest,
        home: Home::Node,
        package: "jest",
    },
    Runner {
        name: "mocha",
        program: "mocha",
        endings: SCRIPT,
        sign: |folder| javascript(folder, "mocha", ".mocharc."),
        words: words::mocha,
        reporting: as_typed,
        reports: true,
        filters: true,
        read: script::mocha,
        home: Home::Node,
        package: "mocha",
    },
    Runner {
        name: "node",
        program: "node",
        endings: SCRIPT,
        sign: |folder| match test_script(folder) {
            Some(script) if script.contains("node --test") || script.contains("node:test") => {
                SPECIAL
            }
            None if folder.names.contains("package.json") => WEAK,
            _ => 0,
        },
        words: words::node,
        reporting: node::reporting,
        reports: true,
        filters: true,
        read: node::read,
        home: Home::System,
        package: "nodejs",
    },
    Runner {
        name: "go",
        program: "go",
        endings: &["go"],
        sign: |folder| is(folder.names.contains("go.mod"), SURE),
        words: words::go,
        reporting: as_typed,
        reports: false,
        filters: true,
        read: go::read,
        home: Home::System,
        package: "golang-go",
    },
    Runner {
        name: "npm",
        program: "npm",
        endings: SCRIPT,
        sign: |folder| is(test_script(folder).is_some(), SOME),
        words: |_| vec!["test".to_owned()],
        reporting: as_typed,
        reports: false,
        filters: false,
        read: guess::read,
        home: Home::System,
        package: "npm",
    },
    Runner {
        name: "make",
        program: "make",
        endings: &[],
        sign: |folder| is(target(folder).is_some(), SOME),
        words: |wish| vec![wish.folder.clone().unwrap_or_else(|| "test".to_owned())],
        reporting: as_typed,
        reports: false,
        filters: false,
        read: guess::read,
        home: Home::System,
        package: "make",
    },
];

fn as_typed(words: Vec<String>, _: &str) -> Vec<String> {
    words
}

fn is(it: bool, sign: u8) -> u8 {
    if it { sign } else { 0 }
}

fn python(folder: &Folder) -> u8 {
    let marks = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];
    let has_tests = folder.names.iter().any(|name| {
        name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
    });
    is(has_tests || marks.iter().any(|name| folder.names.contains(*name)), WEAK)
}

/// The script that `npm test` would run; the one that `npm init` writes is
/// none.
fn test_script(folder: &Folder) -> Option<String> {
    let manifest = folder.package()?;
    let script = manifest.pointer("/scripts/test")?.as_str()?;
    (!script.contains("no test specified")).then(|| script.to_owned())
}

fn javascript(folder: &Folder, runner: &str, settings: &str) -> u8 {
    let script = test_script(folder).unwrap_or_default();
    if script.split([' ', '/', ';', '&']).any(|word| word == runner) {
        return SPECIAL;
    }
    let has_key = folder.package().is_some_and(|manifest| manifest.get(runner).is_some());
    is(has_key || folder.has_prefix(settings) || folder.depends_on(runner), SURE)
}

/// The target of a Makefile that runs tests.
pub(super) fn target(folder: &Folder) -> Option<&'static str> {
    let files = ["GNUmakefile", "makefile", "Makefile"];
    let text = files.iter().map(|name| folder.text(name)).find(|text| !text.is_empty())?;
    let rules = text.lines().filter_map(|line| {
        let (names, rest) = line.split_once(':')?;
        let is_rule = !line.starts_with(['\t', ' ', '#']) && !rest.starts_with('=');
        is_rule.then_some(names)
    });
    let named: Vec<&str> = rules.flat_map(str::split_whitespace).collect();
    ["test", "check"].into_iter().find(|name| named.contains(name))
}

/// The runner for files that nothing else is known of.
pub(super) fn by_files(survey: &Survey) -> Option<&'static Runner> {
    let named = |name: &str| RUNNERS.iter().find(|runner| runner.name == name);
    let has = |is_test: fn(&str) -> bool| {
        survey
            .files
            .iter()
            .any(|file| file.file_name().and_then(|n| n.to_str()).is_some_and(is_test))
    };
    if has(|name| name.ends_with(".py") && (name.starts_with("test") || name.ends_with("_test.py")))
    {
        let is_there = survey.program("pytest").is_some();
        return named(if is_there { "pytest" } else { "unittest" });
    }
    if has(|name| name.contains(".test.") && name.ends_with("js")) {
        return named("node");
    }
    if has(|name| name.ends_with("_test.go")) {
        return named("go");
    }
    has(|name| name.ends_with(".rs")).then(|| named("cargo"))?
}
