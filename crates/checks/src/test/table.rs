//! All test runners.

use super::{Runner, Wish, go, guess, junit, libtest, nextest, node, script, unittest};
use crate::install::Home;
use crate::survey::{Folder, Survey};

/// A sign that says only which language it is.
pub(super) const WEAK: u8 = 1;
/// A sign that there is some way to test.
const SOME: u8 = 2;
/// A sign that it is this runner.
const SURE: u8 = 3;
/// A sign that it is this one and not the usual one.
const SPECIAL: u8 = 4;

const PYTHON: &[&str] = &["py"];
const SCRIPT: &[&str] = &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"];

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
        words: pytest_words,
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
        words: unittest_words,
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
        words: nextest_words,
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
        words: cargo_words,
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
        words: |wish| vitest_words(wish),
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
        words: |wish| {
            let fixed = ["--ci", "--json", "--testLocationInResults", "--colors=false"];
            javascript_words(&fixed, &format!("--outputFile={}", wish.report), wish)
        },
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
        words: mocha_words,
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
        words: node_words,
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
        words: go_words,
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

fn words(fixed: &[&str]) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).collect()
}

/// Whether a filter is the name of a file, or of something in one.
fn is_path(filter: &str) -> bool {
    filter.contains('/')
        || filter.contains("::")
        || SCRIPT
            .iter()
            .chain(PYTHON)
            .any(|ending| filter.strip_suffix(ending).is_some_and(|rest| rest.ends_with('.')))
}

/// An expression that matches just these names.
fn exactly(names: &[String]) -> String {
    let names = names.iter().map(|name| escape(name)).collect::<Vec<_>>().join("|");
    format!("^({names})$")
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\^$.|?*+()[]{}/".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn pytest_words(wish: &Wish) -> Vec<String> {
    let mut all = words(&["-q", "--color=no", "--tb=short", "-o", "junit_family=xunit1"]);
    all.push(format!("--junitxml={}", wish.report));
    if !wish.only.is_empty() {
        all.extend_from_slice(&wish.only);
        return all;
    }
    match &wish.filter {
        Some(filter) if is_path(filter) => all.push(filter.clone()),
        filter => {
            all.extend(filter.iter().flat_map(|filter| [format!("-k={filter}")]));
            all.extend((wish.target != ".").then(|| wish.target.clone()));
        }
    }
    all
}

fn unittest_words(wish: &Wish) -> Vec<String> {
    let mut all = words(&["-m", "unittest"]);
    let target = wish.target.strip_prefix("./").unwrap_or(&wish.target);
    if target.ends_with(".py") {
        // Its folder is searched for this name alone.
        let (folder, name) = target.rsplit_once('/').unwrap_or((".", target));
        all.extend(words(&["discover", "-v", "-s", folder, "-p", name]));
    } else {
        let folder = if target == "." { wish.folder.as_deref().unwrap_or(".") } else { target };
        all.extend(words(&["discover", "-v", "-s", folder]));
        // Both ways of calling a file of tests are usual.
        all.extend(words(&["-p", "*test*.py"]));
    }
    let wanted = wish.only.iter().chain(&wish.filter);
    all.extend(wanted.flat_map(|name| ["-k".to_owned(), name.clone()]));
    all
}

fn cargo_words(wish: &Wish) -> Vec<String> {
    rust_words(&["test", "--no-fail-fast", "--color=never"], wish)
}

fn rust_words(fixed: &[&str], wish: &Wish) -> Vec<String> {
    let mut all = words(fixed);
    // A file of `tests` is a program of its own.
    let own = wish.target.strip_prefix("./tests/").and_then(|name| name.strip_suffix(".rs"));
    all.extend(own.iter().flat_map(|name| ["--test".to_owned(), (*name).to_owned()]));
    if !wish.only.is_empty() {
        // The words for examples in the documentation are taken apart at their
        // blanks, so that they can only be asked for by their file.
        let is_doc = |name: &String| name.contains(" - ") && name.contains(" (line ");
        all.push("--".to_owned());
        all.extend((!wish.only.iter().any(is_doc)).then(|| "--exact".to_owned()));
        for name in &wish.only {
            let name = if is_doc(name) { name.split(' ').next().unwrap_or(name) } else { name };
            if !all.iter().any(|word| word == name) {
                all.push(name.to_owned());
            }
        }
    } else if let Some(filter) = &wish.filter {
        all.extend(["--".to_owned(), filter.clone()]);
    }
    all
}

fn nextest_words(wish: &Wish) -> Vec<String> {
    let fixed = [
        "nextest",
        "run",
        "--no-fail-fast",
        "--color=never",
        "--status-level=all",
        "--final-status-level=none",
        "--failure-output=immediate",
        "--success-output=never",
    ];
    rust_words(&fixed, wish)
}

/// The usual reporter as well, as the other one knows nothing of errors outside
/// of tests.
fn vitest_words(wish: &Wish) -> Vec<String> {
    let fixed = ["run", "--reporter=default", "--reporter=json", "--no-color"];
    javascript_words(&fixed, &format!("--outputFile.json={}", wish.report), wish)
}

fn javascript_words(fixed: &[&str], report: &str, wish: &Wish) -> Vec<String> {
    let mut all = words(fixed);
    all.push(report.to_owned());
    if !wish.only.is_empty() {
        all.extend(["-t".to_owned(), exactly(&wish.only)]);
    }
    match &wish.filter {
        Some(filter) if is_path(filter) => all.push(filter.clone()),
        Some(filter) => all.extend(["-t".to_owned(), escape(filter)]),
        None => {}
    }
    let target = wish.target.strip_prefix("./").unwrap_or(&wish.target);
    all.extend((target != ".").then(|| target.to_owned()));
    all
}

fn mocha_words(wish: &Wish) -> Vec<String> {
    let mut all =
        words(&["--reporter=json", "--reporter-option", &format!("output={}", wish.report)]);
    if !wish.only.is_empty() {
        all.extend(["--grep".to_owned(), exactly(&wish.only)]);
    } else if let Some(filter) = &wish.filter {
        match is_path(filter) {
            true => all.push(filter.clone()),
            false => all.extend(["--fgrep".to_owned(), filter.clone()]),
        }
    }
    all.extend((wish.target != ".").then(|| wish.target.clone()));
    all
}

fn node_words(wish: &Wish) -> Vec<String> {
    let mut all = words(&["--test"]);
    let wanted = match (&wish.filter, wish.only.is_empty()) {
        (_, false) => Some(exactly(&with_parents(&wish.only))),
        (Some(filter), _) if !is_path(filter) => Some(escape(filter)),
        _ => None,
    };
    all.extend(wanted.map(|wanted| format!("--test-name-pattern={wanted}")));
    let path = wish.filter.as_ref().filter(|filter| is_path(filter));
    all.extend(path.or(Some(&wish.target).filter(|target| *target != ".")).cloned());
    all
}

/// The names of tests and of those around them, without which they are not
/// reached; newer versions know a test by all of them together.
fn with_parents(ids: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for id in ids {
        let whole = id.replace(node::BETWEEN, " ");
        let parts = id.split(node::BETWEEN).map(str::to_owned).chain([whole]);
        for name in parts {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

fn go_words(wish: &Wish) -> Vec<String> {
    let mut all = words(&["test", "-json"]);
    if !wish.only.is_empty() {
        let tops = wish.only.iter().map(|name| name.split('/').next().unwrap_or(name).to_owned());
        all.extend(["-run".to_owned(), exactly(&tops.collect::<Vec<_>>())]);
    } else if let Some(filter) = &wish.filter {
        all.extend(["-run".to_owned(), filter.clone()]);
    }
    let folder = match wish.target.ends_with(".go") {
        true => wish.target.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned(),
        false if wish.target == "." => "./...".to_owned(),
        false => format!("{}/...", wish.target),
    };
    all.push(folder);
    all
}
