use super::*;
use crate::finding::LintSeverity;
use crate::fixture::{project, with_parts};

fn read(name: &str, said: CheckOutput<'_>) -> Vec<LintFinding> {
    let linter = LINTERS.iter().find(|linter| linter.name == name).unwrap();
    (linter.parse)(&said).unwrap()
}

fn out(text: &str) -> CheckOutput<'_> {
    CheckOutput { stdout: text, ..CheckOutput::default() }
}

/// file:line:column-end rule severity message
fn brief(findings: &[LintFinding]) -> Vec<String> {
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |n| n.to_string());
    findings
        .iter()
        .map(|f| {
            format!(
                "{}:{}:{} {:?} {} | {}",
                f.file,
                number(f.line),
                number(f.column),
                f.severity,
                f.rule.as_deref().unwrap_or("-"),
                f.message
            )
        })
        .collect()
}

#[test]
fn those_that_print_lines() {
    let cases = [
        (
            "flake8",
            out("./a.py:2:8: E231 missing whitespace after ':'\n"),
            "./a.py:2:8 Warning E231 | missing whitespace after ':'",
        ),
        (
            "mypy",
            out(
                "a.py:3:12:3:13: error: Bad \"x\"  [return-value]\na.py:3:12:3:12: note: See docs\n",
            ),
            "a.py:3:12 Error return-value | Bad \"x\"",
        ),
        (
            "tsc",
            out(
                "src/b.ts(1,14): error TS2322: Type 'string' is not assignable.\n  Because of this.\n",
            ),
            "src/b.ts:1:14 Error TS2322 | Type 'string' is not assignable.\n  Because of this.",
        ),
        (
            "biome",
            out(
                "::warning title=lint/style/noVar,file=a.js,line=1,endLine=1,col=1,endColumn=4::100%25%0ASure.\n",
            ),
            "a.js:1:1 Warning lint/style/noVar | 100%\nSure.",
        ),
        (
            "golangci-lint",
            out("main.go:5:2: unused variable (unused)\n\tx := 1\n\t^\n1 issues:\n"),
            "main.go:5:2 Warning unused | unused variable",
        ),
        (
            "go-vet",
            CheckOutput {
                stderr: "# pkg\nvet: ./main.go:6:2: unreachable code\n",
                ..CheckOutput::default()
            },
            "./main.go:6:2 Error - | unreachable code",
        ),
        (
            "yamllint",
            out("a.yaml:2:1: [error] duplication of key (key-duplicates)\n"),
            "a.yaml:2:1 Error key-duplicates | duplication of key",
        ),
        (
            "markdownlint",
            CheckOutput {
                stderr: "a.md:3:81 error MD013/line-length Line length [Expected: 80]\n",
                ..CheckOutput::default()
            },
            "a.md:3:81 Warning MD013 | Line length [Expected: 80]",
        ),
    ];
    for (name, said, expected) in cases {
        assert_eq!(brief(&read(name, said)), [expected], "{name}");
    }
}

#[test]
fn those_that_print_json() {
    let cases = [
        (
            "pyright",
            r#"{"generalDiagnostics":[{"file":"/a.py","severity":"error","message":"no","rule":"reportX","range":{"start":{"line":0,"character":4},"end":{"line":0,"character":6}}}]}"#,
            "/a.py:1:5 Error reportX | no",
        ),
        (
            "stylelint",
            r#"[{"source":"/a.css","warnings":[{"line":1,"column":2,"rule":"color-no-invalid-hex","severity":"error","text":"Unexpected (color-no-invalid-hex)"}]}]"#,
            "/a.css:1:2 Error color-no-invalid-hex | Unexpected",
        ),
        (
            "hadolint",
            r#"[{"line":1,"column":1,"code":"DL3006","message":"Tag it","level":"warning","file":"Dockerfile"}]"#,
            "Dockerfile:1:1 Warning DL3006 | Tag it",
        ),
        (
            "pylint",
            r#"[{"type":"convention","path":"a.py","line":1,"column":0,"endLine":null,"endColumn":null,"symbol":"missing-module-docstring","message":"Missing"}]"#,
            "a.py:1:1 Info missing-module-docstring | Missing",
        ),
        (
            "ruff",
            r#"[{"code":null,"filename":"/a.py","location":{"row":1,"column":5},"end_location":{"row":1,"column":6},"fix":null,"message":"SyntaxError: no"}]"#,
            "/a.py:1:5 Error - | SyntaxError: no",
        ),
        (
            "eslint",
            r#"[{"filePath":"/a.js","messages":[{"ruleId":null,"severity":2,"fatal":true,"message":"Parsing error","line":1,"column":3}]}]"#,
            "/a.js:1:3 Error - | Parsing error",
        ),
    ];
    for (name, text, expected) in cases {
        assert_eq!(brief(&read(name, out(text))), [expected], "{name}");
    }
}

#[test]
fn cargo_names_files_from_the_workspace_on() {
    let line = |file: &str, manifest: &str| {
        format!(
            r#"{{"reason":"compiler-message","manifest_path":"{manifest}","message":{{"level":"warning","message":"m","code":{{"code":"dead_code"}},"children":[],"spans":[{{"is_primary":true,"file_name":"{file}","line_start":3,"line_end":3,"column_start":4,"column_end":9}}]}}}}"#
        )
    };
    let text = [
        r#"{"reason":"compiler-artifact"}"#.to_owned(),
        line("crates/a/src/lib.rs", "/w/crates/a/Cargo.toml"),
        line("src/lib.rs", "/w/Cargo.toml"),
        "{ not json".to_owned(),
    ]
    .join("\n");
    let found = brief(&read("clippy", out(&text)));
    assert_eq!(
        found,
        [
            "/w/crates/a/src/lib.rs:3:4 Warning dead_code | m",
            "/w/src/lib.rs:3:4 Warning dead_code | m"
        ]
    );
}

#[test]
fn what_makes_no_sense_is_no_answer() {
    for linter in LINTERS {
        let read = (linter.parse)(&out("Segmentation fault\n"));
        assert!(read.is_none_or(|found| found.is_empty()), "{}", linter.name);
    }
}

fn chosen(survey: &ProjectSurvey) -> Vec<(&'static str, bool)> {
    let chosen = choose_linters(survey, None).unwrap();
    chosen.iter().map(|choice| (choice.linter.name, choice.program.is_some())).collect()
}

#[test]
fn the_projects_own_linters_are_chosen() {
    let both = project(&[("pyproject.toml", "[tool.ruff]\n[tool.mypy]\n")], &["a.py"], &["ruff"]);
    assert_eq!(chosen(&both), [("ruff", true), ("mypy", false)]);
    let setup = project(
        &[("setup.cfg", "[flake8]\nmax-line-length = 99\n")],
        &["a.py"],
        &["ruff", "flake8"],
    );
    assert_eq!(chosen(&setup), [("flake8", true)]);
    let bare = project(&[], &["a.py", "b.sh"], &["pylint"]);
    assert_eq!(
        chosen(&bare),
        [("pylint", true), ("shellcheck", false)],
        "what is there, or else what is usual"
    );
    let scripts = project(&[("package.json", "{}")], &["a.js"], &["eslint"]);
    assert_eq!(chosen(&scripts), [], "eslint does nothing without settings");
    let modern = project(&[("eslint.config.mjs", ""), ("package.json", "{}")], &["a.js"], &[]);
    assert_eq!(chosen(&modern), [("eslint", false)]);
    let rust = project(&[("Cargo.toml", "")], &["src/lib.rs"], &["cargo", "cargo-clippy"]);
    assert_eq!(chosen(&rust), [("clippy", true)]);
    assert_eq!(choose_linters(&rust, Some("Ruff")).unwrap()[0].reason, "asked for");
    assert!(choose_linters(&rust, Some("x")).unwrap_err().contains(&"eslint"));
}

#[test]
fn a_path_is_never_taken_for_an_option() {
    assert_eq!(relative_arg(Path::new("/w/-x.py"), Path::new("/w")), "./-x.py");
    assert_eq!(relative_arg(Path::new("/w"), Path::new("/w")), ".");
    let said = out("");
    let choice =
        &choose_linters(&project(&[(".flake8", "")], &["a.py"], &["flake8"]), None).unwrap()[0];
    assert_eq!(choice.parse(&said, 0), Some(vec![]));
    assert_eq!(choice.parse(&said, 2), None, "it ended badly and said nothing");
    assert_eq!(choice.parse(&out("a.py:1:1: F401 x"), 1).unwrap()[0].severity, LintSeverity::Error);
}

#[test]
fn each_part_of_a_project_has_its_own_linters() {
    let files = ["back/a.py", "back/in/b.py", "tools/c.py", "core/src/lib.rs", "web/a.js"];
    let programs = ["ruff", "mypy", "cargo", "cargo-clippy", "eslint"];
    let survey = with_parts(
        project(&[], &files, &programs),
        &[
            ("back", &[("pyproject.toml", "[tool.mypy]\n")]),
            ("back/in", &[("mypy.ini", "")]),
            ("core", &[("Cargo.toml", "")]),
            ("web", &[("eslint.config.mjs", ""), ("package.json", "{}")]),
        ],
    );
    let shown = |choices: Vec<ChosenLinter>| -> Vec<String> {
        let line = |it: &ChosenLinter| {
            format!("{} {} {}", it.linter.name, it.dir.display(), it.task.targets.join(" "))
        };
        choices.iter().map(line).collect()
    };
    assert_eq!(
        shown(choose_linters(&survey, None).unwrap()),
        ["mypy /w/back .", "eslint /w/web .", "clippy /w/core .", "ruff /w ./tools/c.py"]
    );
    assert_eq!(shown(choose_linters(&survey, Some("clippy")).unwrap()), ["clippy /w/core ."]);
    assert_eq!(shown(choose_linters(&survey, Some("ruff")).unwrap()), ["ruff /w ."]);
}

#[test]
fn edits_that_the_compiler_is_sure_of() {
    let span = |from: u64, to: u64, new: &str, sure: &str| {
        serde_json::json!({
            "file_name": "src/lib.rs", "byte_start": from, "byte_end": to, "expansion": null,
            "suggested_replacement": new, "suggestion_applicability": sure,
        })
    };
    let line = |spans: Vec<serde_json::Value>| {
        let message = serde_json::json!({ "children": [{ "spans": [] }, { "spans": spans }] });
        let manifest = "/w/Cargo.toml";
        serde_json::json!({ "manifest_path": manifest, "message": message }).to_string() + "\n"
    };
    let sure = "MachineApplicable";
    let twice = line(vec![span(0, 7, "", sure), span(8, 9, "", sure)]);
    let unsure = line(vec![span(0, 1, "x", "MaybeIncorrect")]);
    let printed = format!("{twice}{unsure}{twice}no JSON\n");
    let found = edits::parse_cargo_edits(&out(&printed));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0][0].file, "/w/src/lib.rs");
    assert_eq!(edits::apply_edits(b"return 1; }", &found[0]), Some(b"1 }".to_vec()));
    assert_eq!(edits::apply_edits(b"short", &found[0]), None);
    assert!(
        edits::edits_overlap(&found[0][0], &found[0][0])
            && !edits::edits_overlap(&found[0][0], &found[0][1])
    );
}

#[test]
fn a_linter_that_gave_up_has_not_looked_at_all() {
    let survey = project(&[("mypy.ini", "")], &["a.py"], &["mypy", "ruff"]);
    let choice = |name| choose_linters(&survey, Some(name)).unwrap().remove(0);
    assert!(choice("mypy").is_partial(2) && !choice("mypy").is_partial(1));
    assert!(!choice("ruff").is_partial(2));
}
