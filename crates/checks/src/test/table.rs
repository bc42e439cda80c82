//! Table of all test runners.

use super::{
    TestRunner, command_args, go, guess, js_reports, junit, libtest, nextest, node, unittest,
};
use crate::install::PackageSource;
use crate::survey::{ProjectDir, ProjectSurvey};

/// Only the language is known.
pub(super) const CONFIDENCE_LANGUAGE: u8 = 1;
/// There is some way to run tests.
const CONFIDENCE_GENERIC: u8 = 2;
/// The project uses this runner.
pub(super) const CONFIDENCE_SURE: u8 = 3;
/// The project uses this runner instead of the default one.
const CONFIDENCE_EXPLICIT: u8 = 4;

const PYTHON_PATTERNS: &[&str] = &["py"];
pub(super) const JS_PATTERNS: &[&str] = &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"];

/// All runners; of two with equal confidence, the first wins.
pub static RUNNERS: &[TestRunner] = &[
    TestRunner {
        name: "pytest",
        program: "pytest",
        file_patterns: PYTHON_PATTERNS,
        confidence: |dir| {
            let names = ["pytest.ini", ".pytest.ini", "conftest.py"];
            let is_sure = names.iter().any(|name| dir.names.contains(*name))
                || dir.has_table("pyproject.toml", &["tool", "pytest"])
                || dir.has_section("setup.cfg", "tool:pytest")
                || dir.has_section("tox.ini", "pytest")
                || dir.requires("pytest");
            if is_sure { CONFIDENCE_SURE } else { python_confidence(dir) }
        },
        args: command_args::pytest,
        report_args: unchanged_args,
        writes_report: true,
        can_filter: true,
        parse: junit::pytest,
        source: PackageSource::Python,
        package: "pytest",
    },
    TestRunner {
        name: "unittest",
        program: "python3",
        file_patterns: PYTHON_PATTERNS,
        confidence: python_confidence,
        args: command_args::unittest,
        report_args: unittest::report_args,
        writes_report: true,
        can_filter: true,
        parse: unittest::read,
        source: PackageSource::System,
        package: "python3",
    },
    TestRunner {
        name: "tox",
        program: "tox",
        file_patterns: PYTHON_PATTERNS,
        confidence: |dir| {
            confidence_if(
                dir.has_section("tox.ini", "tox") || dir.has_section("tox.ini", "testenv"),
                CONFIDENCE_GENERIC,
            )
        },
        args: |_| vec!["-q".to_owned()],
        report_args: unchanged_args,
        writes_report: false,
        can_filter: false,
        parse: guess::read,
        source: PackageSource::Python,
        package: "tox",
    },
    TestRunner {
        name: "nox",
        program: "nox",
        file_patterns: PYTHON_PATTERNS,
        confidence: |dir| confidence_if(dir.names.contains("noxfile.py"), CONFIDENCE_GENERIC),
        args: |_| Vec::new(),
        report_args: unchanged_args,
        writes_report: false,
        can_filter: false,
        parse: guess::read,
        source: PackageSource::Python,
        package: "nox",
    },
    TestRunner {
        name: "nextest",
        program: "cargo",
        file_patterns: &["rs"],
        // The directory of nextest's configuration.
        confidence: |dir| {
            confidence_if(
                dir.names.contains("Cargo.toml") && dir.names.contains(".config"),
                CONFIDENCE_EXPLICIT,
            )
        },
        args: command_args::nextest,
        report_args: unchanged_args,
        writes_report: false,
        can_filter: true,
        parse: nextest::read,
        source: PackageSource::Cargo,
        package: "cargo-nextest",
    },
    TestRunner {
        name: "cargo",
        program: "cargo",
        file_patterns: &["rs"],
        confidence: |dir| confidence_if(dir.names.contains("Cargo.toml"), CONFIDENCE_SURE),
        args: command_args::cargo,
        report_args: unchanged_args,
        writes_report: false,
        can_filter: true,
        parse: libtest::read,
        source: PackageSource::System,
        package: "cargo",
    },
    TestRunner {
        name: "vitest",
        program: "vitest",
        file_patterns: JS_PATTERNS,
        confidence: |dir| js_confidence(dir, "vitest", "vitest.config."),
        args: command_args::vitest,
        report_args: unchanged_args,
        writes_report: true,
        can_filter: true,
        parse: js_reports::vitest,
        source: PackageSource::Node,
        package: "vitest",
    },
    TestRunner {
        name: "jest",
        program: "jest",
        file_patterns: JS_PATTERNS,
        confidence: |dir| js_confidence(dir, "jest", "jest.config."),
        args: command_args::jest,
        report_args: unchanged_args,
        writes_report: true,
        can_filter: true,
        parse: js_reports::jest,
        source: PackageSource::Node,
        package: "jest",
    },
    TestRunner {
        name: "mocha",
        program: "mocha",
        file_patterns: JS_PATTERNS,
        confidence: |dir| js_confidence(dir, "mocha", ".mocharc."),
        args: command_args::mocha,
        report_args: unchanged_args,
        writes_report: true,
        can_filter: true,
        parse: js_reports::mocha,
        source: PackageSource::Node,
        package: "mocha",
    },
    TestRunner {
        name: "node",
        program: "node",
        file_patterns: JS_PATTERNS,
        confidence: |dir| match test_script(dir) {
            Some(script) if script.contains("node --test") || script.contains("node:test") => {
                CONFIDENCE_EXPLICIT
            }
            None if dir.names.contains("package.json") => CONFIDENCE_LANGUAGE,
            _ => 0,
        },
        args: command_args::node,
        report_args: node::report_args,
        writes_report: true,
        can_filter: true,
        parse: node::read,
        source: PackageSource::System,
        package: "nodejs",
    },
    TestRunner {
        name: "go",
        program: "go",
        file_patterns: &["go"],
        confidence: |dir| confidence_if(dir.names.contains("go.mod"), CONFIDENCE_SURE),
        args: command_args::go,
        report_args: unchanged_args,
        writes_report: false,
        can_filter: true,
        parse: go::read,
        source: PackageSource::System,
        package: "golang-go",
    },
    TestRunner {
        name: "npm",
        program: "npm",
        file_patterns: JS_PATTERNS,
        confidence: |dir| confidence_if(test_script(dir).is_some(), CONFIDENCE_GENERIC),
        args: |_| vec!["test".to_owned()],
        report_args: unchanged_args,
        writes_report: false,
        can_filter: false,
        parse: guess::read,
        source: PackageSource::System,
        package: "npm",
    },
    TestRunner {
        name: "make",
        program: "make",
        file_patterns: &[],
        confidence: |dir| confidence_if(make_test_target(dir).is_some(), CONFIDENCE_GENERIC),
        args: |wish| vec![wish.test_dir.clone().unwrap_or_else(|| "test".to_owned())],
        report_args: unchanged_args,
        writes_report: false,
        can_filter: false,
        parse: guess::read,
        source: PackageSource::System,
        package: "make",
    },
];

fn unchanged_args(words: Vec<String>, _: &str) -> Vec<String> {
    words
}

fn confidence_if(it: bool, sign: u8) -> u8 {
    if it { sign } else { 0 }
}

fn python_confidence(dir: &ProjectDir) -> u8 {
    let marks = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];
    let has_tests = dir.names.iter().any(|name| {
        name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
    });
    confidence_if(
        has_tests || marks.iter().any(|name| dir.names.contains(*name)),
        CONFIDENCE_LANGUAGE,
    )
}

/// Returns the script that `npm test` runs, unless it is the placeholder of
/// `npm init`.
fn test_script(dir: &ProjectDir) -> Option<String> {
    let manifest = dir.package_json()?;
    let script = manifest.pointer("/scripts/test")?.as_str()?;
    (!script.contains("no test specified")).then(|| script.to_owned())
}

fn js_confidence(dir: &ProjectDir, runner: &str, settings: &str) -> u8 {
    let script = test_script(dir).unwrap_or_default();
    if script.split([' ', '/', ';', '&']).any(|word| word == runner) {
        return CONFIDENCE_EXPLICIT;
    }
    let has_key = dir.package_json().is_some_and(|manifest| manifest.get(runner).is_some());
    confidence_if(has_key || dir.has_prefix(settings) || dir.depends_on(runner), CONFIDENCE_SURE)
}

/// Returns the Makefile target that runs tests.
pub(super) fn make_test_target(dir: &ProjectDir) -> Option<&'static str> {
    let files = ["GNUmakefile", "makefile", "Makefile"];
    let text = files.iter().map(|name| dir.text(name)).find(|text| !text.is_empty())?;
    let rules = text.lines().filter_map(|line| {
        let (names, rest) = line.split_once(':')?;
        let is_rule = !line.starts_with(['\t', ' ', '#']) && !rest.starts_with('=');
        is_rule.then_some(names)
    });
    let named: Vec<&str> = rules.flat_map(str::split_whitespace).collect();
    ["test", "check"].into_iter().find(|name| named.contains(name))
}

/// Chooses a runner by the names of the files alone.
pub(super) fn runner_by_files(survey: &ProjectSurvey) -> Option<&'static TestRunner> {
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
