//! Command-line arguments that make each runner run the requested tests.

use std::path::Path;

use super::{TestRequest, node, table};
use crate::survey::matches_pattern;

fn to_args(fixed: &[&str]) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).collect()
}

fn strip_dot_slash(target: &str) -> &str {
    target.strip_prefix("./").unwrap_or(target)
}

/// Returns a pattern that matches exactly these names.
fn exact_pattern(names: &[String]) -> String {
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

/// Strips the parameters of a test from its name.
fn without_parameters(name: &str) -> &str {
    name.split('[').next().unwrap_or(name)
}

pub(super) fn pytest(wish: &TestRequest) -> Vec<String> {
    // Prints one line per test before it starts, which shows how far an
    // interrupted run got. A number also overrides the project's `-q`.
    let mut all =
        to_args(&["--verbosity=1", "--color=no", "--tb=short", "-o", "junit_family=xunit1"]);
    all.push(format!("--junitxml={}", wish.report));
    let parts: Vec<&str> = match wish.is_exact() {
        true => Vec::new(),
        false => wish.name.iter().map(|part| without_parameters(part)).collect(),
    };
    let named = wish.filter.as_deref().map(|filter| match filter.split_once("::") {
        // Each part is matched separately.
        Some(_) => filter.split("::").map(without_parameters).collect::<Vec<_>>().join(" and "),
        None => filter.to_owned(),
    });
    let wanted = parts.into_iter().map(str::to_owned).chain(named).filter(|part| !part.is_empty());
    let wanted: Vec<String> = wanted.collect();
    match wanted.as_slice() {
        [] => {}
        [one] => all.push(format!("-k={one}")),
        many => all.push(format!("-k=({})", many.join(") and ("))),
    }
    if !wish.only.is_empty() {
        all.extend_from_slice(&wish.only);
        return all;
    }
    let name = if wish.is_exact() { wish.name.as_slice() } else { &[] };
    all.extend(wish.targets.iter().map(|target| {
        let parts = [target].into_iter().chain(name);
        parts.map(String::as_str).collect::<Vec<_>>().join("::")
    }));
    all
}

pub(super) fn unittest(wish: &TestRequest) -> Vec<String> {
    let mut all = to_args(&["-m", "unittest"]);
    let target = wish.targets.first().map_or(".", |target| strip_dot_slash(target));
    if target.ends_with(".py") {
        // Only this name is searched for in its directory; several target files
        // share one name and are below their common directory.
        let name = target.rsplit_once('/').map_or(target, |(_, name)| name);
        let dir = common_dir(&wish.targets);
        all.extend(to_args(&["discover", "-v", "-s", &dir, "-p", name]));
    } else {
        let dir = if target == "." { wish.test_dir.as_deref().unwrap_or(".") } else { target };
        all.extend(to_args(&["discover", "-v", "-s", dir]));
        // Both `test_*.py` and `*_test.py` are common.
        all.extend(to_args(&["-p", "*test*.py"]));
    }
    let mut wanted: Vec<String> = wish.filter.iter().map(|name| name.replace("::", ".")).collect();
    // A pattern with an asterisk must match the whole name.
    wanted.extend(wish.only.iter().flat_map(|name| [format!("*{name}"), format!("*{name}.*")]));
    let parts: Vec<&str> = wish.name.iter().map(|part| without_parameters(part)).collect();
    let name = parts.join(".");
    match (name.is_empty(), wish.is_exact()) {
        (true, _) => {}
        (_, true) => wanted.extend([format!("*.{name}"), format!("*.{name}.*")]),
        (_, false) => wanted.push(name),
    }
    all.extend(wanted.into_iter().flat_map(|name| ["-k".to_owned(), name]));
    all
}

/// Returns the common parent directory of these files.
fn common_dir(files: &[String]) -> String {
    let mut dirs = files.iter().filter_map(|file| Path::new(strip_dot_slash(file)).parent());
    let Some(mut found) = dirs.next() else { return ".".to_owned() };
    for dir in dirs {
        while !dir.starts_with(found) {
            found = found.parent().unwrap_or(Path::new(""));
        }
    }
    if found.as_os_str().is_empty() { ".".to_owned() } else { found.display().to_string() }
}

pub(super) fn cargo(wish: &TestRequest) -> Vec<String> {
    cargo_args(&["test", "--no-fail-fast", "--color=never"], wish)
}

pub(super) fn nextest(wish: &TestRequest) -> Vec<String> {
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
    cargo_args(&fixed, wish)
}

fn cargo_args(fixed: &[&str], wish: &TestRequest) -> Vec<String> {
    let mut all = to_args(fixed);
    let targets = || wish.targets.iter().map(|target| strip_dot_slash(target));
    for target in targets() {
        // A file or directory in `tests` is a separate test binary.
        let own = [("tests/", "--test"), ("src/bin/", "--bin"), ("examples/", "--example")];
        let found = own.iter().find_map(|(place, word)| Some((word, target.strip_prefix(place)?)));
        let Some((word, rest)) = found else { continue };
        let name = rest.split('/').next().unwrap_or(rest);
        let name = name.strip_suffix(".rs").unwrap_or(name);
        if !all.iter().any(|word| word == name) && !name.is_empty() {
            all.extend([(*word).to_owned(), name.to_owned()]);
        }
    }
    if !wish.only.is_empty() {
        // Doctest names are split at spaces, so they can only be selected by
        // file.
        let is_doc = |name: &String| name.contains(" - ") && name.contains(" (line ");
        all.push("--".to_owned());
        all.extend((!wish.only.iter().any(is_doc)).then(|| "--exact".to_owned()));
        for name in &wish.only {
            let name = if is_doc(name) { name.split(' ').next().unwrap_or(name) } else { name };
            if !all.iter().any(|word| word == name) {
                all.push(name.to_owned());
            }
        }
        return all;
    }
    let name = wish.name.join("::");
    let modules: Vec<String> = targets().map(rust_module).collect();
    match (&wish.filter, name.is_empty(), wish.is_exact()) {
        (Some(filter), true, _) => all.extend(["--".to_owned(), filter.clone()]),
        (_, false, true) => {
            all.extend(to_args(&["--", "--exact"]));
            all.extend(modules.iter().flat_map(|module| full_names(module, &name)));
        }
        (_, false, false) => all.extend(["--".to_owned(), name]),
        (None, true, true) if modules.iter().all(|module| !module.is_empty()) => {
            all.extend((!modules.is_empty()).then(|| "--".to_owned()));
            all.extend(modules.iter().map(|module| format!("{module}::")));
        }
        (None, true, _) => {}
    }
    all
}

/// Returns the module path of a file by convention; empty for a crate root.
fn rust_module(target: &str) -> String {
    let path = target.strip_suffix(".rs").unwrap_or(target);
    let mut parts: Vec<&str> = path.split('/').collect();
    let places = ["src", "tests", "examples", "benches"];
    let begin = parts.iter().position(|part| places.contains(part)).map_or(0, |at| at + 1);
    let place = begin.checked_sub(1).and_then(|at| parts.get(at)).copied();
    parts.drain(..begin);
    // The first component is the name of the binary.
    if place != Some("src") && !parts.is_empty() {
        parts.remove(0);
    } else if parts.first() == Some(&"bin") {
        parts.drain(..parts.len().min(2));
    }
    if matches!(parts.last(), Some(&("lib" | "main" | "mod" | "."))) {
        parts.pop();
    }
    // Tests in a separate file next to the tested one.
    let beside = parts.last().and_then(|last| last.strip_suffix("_tests"));
    if let Some(tested) = beside {
        parts.pop();
        parts.extend([tested, "tests"]);
    }
    parts.join("::")
}

/// Returns the possible full names of a test in a module: directly in it, or in
/// its test module.
fn full_names(module: &str, name: &str) -> Vec<String> {
    if module.is_empty() {
        return ["", "tests::", "test::"].map(|inner| format!("{inner}{name}")).to_vec();
    }
    // The name may repeat the module path of the file.
    if name.starts_with(&format!("{module}::")) {
        return vec![name.to_owned()];
    }
    ["", "tests::", "test::"].map(|inner| format!("{module}::{inner}{name}")).to_vec()
}

pub(super) fn jest(wish: &TestRequest) -> Vec<String> {
    let mut fixed = vec!["--ci", "--json", "--testLocationInResults", "--colors=false"];
    // Without this flag, a file name is a pattern that may match other files.
    let is_file = |target: &String| matches_pattern(Path::new(target), table::JS_PATTERNS);
    if !wish.targets.is_empty() && wish.targets.iter().all(is_file) {
        fixed.push("--runTestsByPath");
    }
    js_args(&fixed, &format!("--outputFile={}", wish.report), wish)
}

/// Also enables the default reporter, because the JSON reporter omits errors
/// outside of tests.
pub(super) fn vitest(wish: &TestRequest) -> Vec<String> {
    let fixed = ["run", "--reporter=default", "--reporter=json", "--no-color"];
    js_args(&fixed, &format!("--outputFile.json={}", wish.report), wish)
}

fn js_args(fixed: &[&str], report: &str, wish: &TestRequest) -> Vec<String> {
    let mut all = to_args(fixed);
    all.push(report.to_owned());
    all.extend(name_pattern(wish).into_iter().flat_map(|wanted| ["-t".to_owned(), wanted]));
    all.extend(wish.targets.iter().map(|target| strip_dot_slash(target).to_owned()));
    all
}

pub(super) fn mocha(wish: &TestRequest) -> Vec<String> {
    let mut all =
        to_args(&["--reporter=json", "--reporter-option", &format!("output={}", wish.report)]);
    all.extend(name_pattern(wish).into_iter().flat_map(|wanted| ["--grep".to_owned(), wanted]));
    all.extend(wish.targets.iter().cloned());
    all
}

/// Returns the pattern for the full name of a test: its groups and its own
/// name, separated by spaces.
fn name_pattern(wish: &TestRequest) -> Option<String> {
    if !wish.only.is_empty() {
        return Some(exact_pattern(&wish.only));
    }
    let name = join_names(&wish.names());
    match (name.is_empty(), wish.is_exact()) {
        (false, true) => Some(format!("^({name})$")),
        // A group, or a test without its enclosing groups.
        (false, false) => Some(format!("(^| ){name}( |$)")),
        (true, _) => {
            let filter = wish.filter.as_ref()?.replace("::", " ");
            Some(join_names(&filter.split(" > ").collect::<Vec<_>>()))
        }
    }
}

pub(super) fn node(wish: &TestRequest) -> Vec<String> {
    let mut all = to_args(&["--test"]);
    let names = wish.names();
    let wanted = match (&wish.filter, wish.only.is_empty(), names.is_empty()) {
        (_, false, _) => Some(exact_pattern(&node_names(&wish.only, wish.attempt))),
        (_, _, false) => Some(node_name_pattern(&names, wish.attempt)),
        (Some(filter), ..) => Some(escape(&filter.replace(" > ", " "))),
        _ => None,
    };
    all.extend(wanted.map(|wanted| format!("--test-name-pattern={wanted}")));
    all.extend(wish.targets.iter().cloned());
    all
}

/// Returns the names to pass to Node. Newer versions match the full name of a
/// test, including its parents. Older ones match only its own name, and run a
/// nested test only if its parents run too, with all their subtests.
fn node_names(ids: &[String], tries: u8) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for id in ids {
        let parts: Vec<&str> = id.split(node::ID_SEPARATOR).collect();
        let kept = match tries {
            0 => 0,
            1 => 1,
            _ => parts.len(),
        };
        let own = parts.iter().rev().take(kept).map(|part| (*part).to_owned());
        for name in [parts.join(" ")].into_iter().chain(own) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Returns the pattern for a test named by the user; ` > ` may also be part of
/// a name. The last attempt matches any test that contains the name.
fn node_name_pattern(names: &[&str], tries: u8) -> String {
    let whole = join_names(names);
    let mut all = vec![whole.clone()];
    let kept = if tries == 0 { 0 } else { names.len() };
    for begin in (0..kept).rev() {
        let last = if tries == 1 { names.len() } else { begin + 1 };
        for end in (last..=names.len()).rev() {
            let own = names.get(begin..end).unwrap_or_default().join(" > ");
            all.extend(Some(escape(&own)).filter(|own| !all.contains(own)));
        }
    }
    let like = if tries > 1 { format!("|(^| ){whole}( |$)") } else { String::new() };
    format!("^({})${like}", all.join("|"))
}

/// Returns a pattern for names separated by spaces or by ` > `.
fn join_names(names: &[&str]) -> String {
    names.iter().map(|name| escape(name)).collect::<Vec<_>>().join("( >)? ")
}

pub(super) fn go(wish: &TestRequest) -> Vec<String> {
    let mut all = to_args(&["test", "-json"]);
    // Nested tests: each level is a separate pattern.
    let levels = |name: &str| {
        let levels = name.split('/').map(|level| exact_pattern(&[level.to_owned()]));
        levels.collect::<Vec<_>>().join("/")
    };
    let name = wish.name.join("/");
    let wanted = match (wish.only.as_slice(), &wish.filter) {
        ([one], _) => Some(levels(one)),
        ([], _) if !name.is_empty() && wish.is_exact() => Some(levels(&name)),
        ([], _) if !name.is_empty() => Some(name),
        ([], filter) => filter.clone(),
        (many, _) => {
            let mut tops: Vec<String> = Vec::new();
            for top in many.iter().filter_map(|name| name.split('/').next()) {
                if !tops.iter().any(|known| known == top) {
                    tops.push(top.to_owned());
                }
            }
            Some(exact_pattern(&tops))
        }
    };
    all.extend(wanted.into_iter().flat_map(|wanted| ["-run".to_owned(), wanted]));
    let mut dirs: Vec<String> = wish.targets.iter().map(|target| go_package(target)).collect();
    dirs.dedup();
    if dirs.is_empty() {
        dirs.push("./...".to_owned());
    }
    all.extend(dirs);
    all
}

fn go_package(target: &str) -> String {
    match target.ends_with(".go") {
        true => target.rsplit_once('/').map_or(".", |(dir, _)| dir).to_owned(),
        false => format!("{target}/..."),
    }
}

#[cfg(test)]
#[path = "command_args_tests.rs"]
mod tests;
