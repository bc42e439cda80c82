use super::*;
use crate::fixture::project;

fn listed(name: &str, stdout: &str, stderr: &str) -> UnformattedFiles {
    let formatter = FORMATTERS.iter().find(|one| one.name == name).unwrap();
    (formatter.check.unwrap().parse)(&CheckOutput { stdout, stderr, report: "" })
}

#[test]
fn what_would_change_is_read() {
    let black = listed(
        "black",
        "",
        "would reformat /w/a.py\nerror: cannot format /w/b.py: Cannot parse: 1:4: def (:\nerror: cannot parse: /w/c.py:1:4\nOh no!\n",
    );
    assert_eq!(black.files, ["/w/a.py"]);
    let broken: Vec<_> = black.unparsable.iter().map(|(file, _)| file.as_str()).collect();
    assert_eq!(broken, ["/w/b.py", "/w/c.py"]);
    let old = listed(
        "ruff",
        "Would reformat: a.py\n1 file would be reformatted\n",
        "error: Failed to parse b.py:1:5: Expected an identifier\n",
    );
    assert_eq!(old.files, ["a.py"]);
    assert_eq!(old.unparsable, [("b.py".to_owned(), "Expected an identifier".to_owned())]);
    let new = listed(
        "ruff",
        "unformatted: File would be reformatted\n --> a.py:2:1\n  |\n1 | x\n\ninvalid-syntax: Expected an identifier\n --> b.py:1:5\n",
        "",
    );
    assert_eq!((new.files, new.unparsable), (old.files, old.unparsable));
    let prettier = listed(
        "prettier",
        "a.js\n",
        "[error] bad.js: SyntaxError: Unexpected token (2:1)\n[error]   1 | x = {\n",
    );
    assert_eq!(prettier.files, ["a.js"]);
    assert_eq!(prettier.unparsable.len(), 1);
    let rust = listed(
        "rustfmt",
        "/w/src/lib.rs\n",
        "error: unclosed delimiter\n --> /w/bad.rs:1:9\n  |\n",
    );
    assert_eq!(rust.unparsable, [("/w/bad.rs".to_owned(), "unclosed delimiter".to_owned())]);
    assert_eq!(listed("gofmt", "a.go\n", "b.go:3:1: expected 'package'\n").unparsable[0].0, "b.go");
}

fn chosen(survey: &ProjectSurvey) -> Vec<(&'static str, usize)> {
    let chosen = choose_formatters(survey, None).unwrap();
    chosen.iter().map(|choice| (choice.formatter.name, choice.files.len())).collect()
}

#[test]
fn each_file_has_one_formatter() {
    let two = [("pyproject.toml", "[tool.black]\n[tool.ruff]\n")];
    assert_eq!(chosen(&project(&two, &["a.py"], &[])), [("black", 1)]);
    let ruff = [("pyproject.toml", "[tool.ruff]\n")];
    assert_eq!(chosen(&project(&ruff, &["a.py"], &["black"])), [("ruff", 1)]);
    assert_eq!(chosen(&project(&[], &["a.py"], &["black"])), [("black", 1)], "what is there");
    assert_eq!(chosen(&project(&[], &["a.py"], &[])), [("ruff", 1)], "what is usual");
    let web = [("biome.json", "{}"), (".prettierrc", "")];
    let survey = project(&web, &["a.js", "b.md", "c.rs"], &["rustfmt"]);
    assert_eq!(chosen(&survey), [("biome", 1), ("prettier", 1), ("rustfmt", 1)]);
    assert_eq!(chosen(&project(&[], &["a.js"], &["prettier"])), [], "nobody asked for it");
}

#[test]
fn rustfmt_is_told_the_edition() {
    let manifest = "[workspace.package]\nedition = \"2024\"\n";
    let survey = project(&[("Cargo.toml", manifest)], &["src/lib.rs"], &["rustfmt"]);
    let choice = &choose_formatters(&survey, None).unwrap()[0];
    assert_eq!(choice.filter_args(Path::new("/w/src/lib.rs"))[..2], ["--edition", "2024"]);
    assert_eq!(choice.check_args().unwrap().last().unwrap(), "./src/lib.rs");
    assert_eq!(choice.write_args(&[]), None, "it would follow modules");
}
