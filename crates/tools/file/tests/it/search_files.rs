use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{Effect, Grants, OutputLimits, Ports, Scope, ToolContext};
use serde_json::{Value, json};

use crate::harness::{Place, tool};

fn project() -> Place {
    let place = Place::new();
    place.write("src/lib.rs", "// lib\nfn needle() {}\n");
    place.write("src/tools/a.rs", "use needle;\nfn other() {}\n");
    place.write("README.md", "# needle\n");
    place.write(".env", "NEEDLE=needle\n");
    place
}

fn files(result: &Value) -> Vec<&str> {
    let files = result["files"].as_array().unwrap_or_else(|| panic!("{result}"));
    files.iter().map(|file| file["path"].as_str().or(file.as_str()).unwrap()).collect()
}

#[tokio::test]
async fn few_matches_are_told_one_by_one() {
    let place = project();
    let result = place.call("search_files", json!({"pattern": "needle", "context": 1})).await;
    let expected = json!({
        "total_count": 3,
        "total_is_exact": true,
        "matches": [
            {"path": "README.md", "line": 1, "content": "# needle", "column": 3, "ranges": [[2, 8]]},
            {"path": "src/lib.rs", "line": 2, "content": "fn needle() {}", "column": 4,
             "ranges": [[3, 9]], "before": ["1- // lib"]},
            {"path": "src/tools/a.rs", "line": 1, "content": "use needle;", "column": 5,
             "ranges": [[4, 10]], "after": ["2- fn other() {}"]},
        ],
        "truncated": false,
    });
    assert_eq!(result, expected);
    let effects = place.effects("search_files", json!({"pattern": "x", "path": "src"}));
    assert_eq!(effects, [Effect::path(Scope::FILE_READ, place.path().join("src"))]);
}

#[tokio::test]
async fn a_match_over_several_lines_has_one_range() {
    let place = Place::new();
    place.write("dos.txt", "x foo\r\nbar\r\nbaz y\r\n");
    let arguments = json!({"pattern": "foo\nbar\nbaz", "literal": true});
    let found = place.call("search_files", arguments).await;
    assert_eq!((&found["total_count"], &found["total_is_exact"]), (&json!(1), &json!(true)));
    let one = &found["matches"][0];
    assert_eq!(one["content"], "x foo\nbar\nbaz y");
    assert_eq!((&one["column"], &one["ranges"]), (&json!(3), &json!([[2, 13]])));
}

#[tokio::test]
async fn many_matches_are_grouped() {
    let place = Place::new();
    place.write("a.txt", "x 1\nx 2\n\ny\ny\ny\nx 7\n");
    place.write("two\nlines", "x\n");
    place.write("z/long", format!("{}x{}\n", "a".repeat(900), "b".repeat(900)));
    let result = place.call("search_files", json!({"pattern": "x", "context": 1})).await;
    let text = result["matches_text"].as_str().unwrap_or_else(|| panic!("{result}"));
    let start = "a.txt\n  1: x 1\n  2: x 2\n  3- \n  --\n  6- y\n  7: x 7\n\"two\\nlines\"\n  1: x\nz/long\n  1:901: …";
    assert!(text.starts_with(start), "{text}");
    assert!(result.get("matches").is_none() && result["total_count"] == 5);
}

#[tokio::test]
async fn totals_are_true_or_at_least() {
    let place = Place::new();
    for number in 0..300 {
        place.write(&format!("d{}/f{number:03}", number % 9), "hit\n");
    }
    let first = place.call("search_files", json!({"pattern": "hit", "limit": 50})).await;
    assert_eq!((&first["truncated"], &first["next_offset"]), (&json!(true), &json!(50)));
    assert_eq!(first["total_is_exact"], false);
    assert!(first["total_count"].as_u64().unwrap() > 50);
    assert!(first["hint"].as_str().unwrap().contains("at least"), "{first}");
    let last = place.call("search_files", json!({"pattern": "hit", "offset": 290})).await;
    assert_eq!((&last["total_count"], &last["total_is_exact"]), (&json!(300), &json!(true)));
    assert_eq!((&last["truncated"], last.get("next_offset")), (&json!(false), None));
    for mode in ["files_only", "count"] {
        let mut seen = Vec::new();
        let mut offset = json!(0);
        while !offset.is_null() {
            let arguments =
                json!({"pattern": "hit", "output_mode": mode, "limit": 70, "offset": offset});
            let page = place.call("search_files", arguments).await;
            match mode {
                "count" => {
                    assert_eq!(
                        (&page["total_count"], &page["total_files"]),
                        (&json!(300), &json!(300))
                    );
                    seen.extend(page["counts"].as_object().unwrap().keys().cloned());
                }
                _ => seen.extend(files(&page).into_iter().map(str::to_owned)),
            }
            offset = page["next_offset"].clone();
        }
        let mut sorted = seen.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!((sorted.len(), &sorted), (300, &seen), "{mode}");
    }
}

#[tokio::test]
async fn a_page_keeps_to_its_room() {
    let place = Place::new();
    place.write("a", "hit ".repeat(20).trim().to_owned() + "\n");
    place.write("b", ("hit ".repeat(20).trim().to_owned() + "\n").repeat(40));
    let mut cx = ToolContext::bare(place.path());
    let bounds = OutputLimits { read_chars: 1000, ..OutputLimits::default() };
    cx.ports = Arc::new(Ports::new().with(Arc::new(bounds)));
    let call = tool("search_files").bind(&json!({"pattern": "hit"})).unwrap();
    let output = call.run(cx).await.unwrap();
    let page: Value = serde_json::from_str(output.content()).unwrap();
    let text = page["matches_text"].as_str().unwrap();
    assert!(text.len() <= 1000, "{}", text.len());
    let shown = text.lines().filter(|line| line.starts_with("  ")).count();
    assert_eq!((&page["next_offset"], &page["truncated"]), (&json!(shown), &json!(true)));
}

#[tokio::test]
async fn paths_can_be_used_again() {
    let place = project();
    for (path, expected) in
        [("src", "src/lib.rs"), ("./src/", "src/lib.rs"), ("src/lib.rs", "src/lib.rs")]
    {
        let arguments = json!({"pattern": "fn needle", "path": path});
        let result = place.call("search_files", arguments).await;
        assert_eq!(result["matches"][0]["path"], expected, "{result}");
    }
    let absolute = place.path().join("src").to_string_lossy().into_owned();
    let result =
        place.call("search_files", json!({"pattern": "fn needle", "path": absolute})).await;
    assert_eq!(result["matches"][0]["path"], format!("{absolute}/lib.rs"));
}

#[tokio::test]
async fn a_broken_pattern_is_shown_and_the_text_offered() {
    let place = Place::new();
    place.write("a.c", "call(foo(\nfoo(1)\n");
    let error = place.call("search_files", json!({"pattern": "foo("})).await;
    assert_eq!((&error["kind"], &error["position"]), (&json!("invalid_arguments"), &json!(4)));
    assert!(error["error"].as_str().unwrap().contains("    foo(\n       ^"), "{error}");
    assert_eq!(error["literal_matches"], 2);
    assert!(error["hint"].as_str().unwrap().contains("2 matches in 1 files: set literal=true"));
    let literal = place.call("search_files", json!({"pattern": "foo(", "literal": true})).await;
    assert_eq!(literal["total_count"], 2);
    let none = place.call("search_files", json!({"pattern": "bar("})).await;
    assert_eq!(none["literal_matches"], 0);
}

#[tokio::test]
async fn other_mistakes_are_explained() {
    let place = project();
    for (arguments, says) in [
        (json!({"pattern": "x", "file_glob": "a["}), "'a[' is not a glob"),
        (json!({"pattern": "x", "type": "rsut"}), "no file type 'rsut'"),
        (json!({"pattern": "x", "encoding": "martian"}), "no encoding 'martian'"),
        (json!({"pattern": "a[", "target": "files"}), "'a[' is not a glob"),
    ] {
        let error = place.call("search_files", arguments).await;
        assert_eq!(error["kind"], "invalid_arguments", "{error}");
        assert!(error["error"].as_str().unwrap().contains(says), "{error}");
    }
    let missing = place.call("search_files", json!({"pattern": "x", "path": "scr"})).await;
    assert_eq!(
        (&missing["kind"], &missing["similar_folders"]),
        (&json!("not_found"), &json!(["src"]))
    );
    let file = place.call("search_files", json!({"pattern": "x", "path": "README.txt"})).await;
    assert_eq!(file["similar_files"], json!(["README.md"]), "{file}");
}

#[tokio::test]
async fn names_are_exact_and_globs_have_folders() {
    let place = Place::new();
    for (name, age) in
        [("config.py", 30), ("src/config.py", 10), ("myconfig.py", 5), ("src/a/b.py", 1)]
    {
        let path = place.write(name, "x");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - age);
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    for (pattern, expected) in [
        ("config.py", vec!["src/config.py", "config.py"]),
        ("src/**/*.py", vec!["src/a/b.py", "src/config.py"]),
        ("*.py", vec!["src/a/b.py", "myconfig.py", "src/config.py", "config.py"]),
    ] {
        let arguments = json!({"pattern": pattern, "target": "files"});
        let result = place.call("search_files", arguments).await;
        assert_eq!(files(&result), expected, "{pattern}");
    }
    let one =
        place.call("search_files", json!({"pattern": "src/config.py", "target": "find"})).await;
    assert_eq!(
        one["files"],
        json!([{"path": "src/config.py", "size": 1, "modified": "2023-11-14T22:13:10Z"}])
    );
    let absolute = format!("{}/src/*.py", place.path().to_string_lossy());
    let result = place.call("search_files", json!({"pattern": absolute, "target": "files"})).await;
    assert_eq!(files(&result), ["src/config.py"]);
    let dirs = json!({"pattern": "src/", "target": "files"});
    let result = place.call("search_files", dirs).await;
    assert_eq!((files(&result), &result["files"][0]["type"]), (vec!["src"], &json!("dir")));
}

/// Like `rg --files -g '!…'`: directories of that name are excluded as well.
#[tokio::test]
async fn an_exclamation_mark_leaves_names_out() {
    let place = project();
    let absolute = format!("!{}/src/*.rs", place.path().to_string_lossy());
    for (more, expected) in [
        (json!({"pattern": "!lib.rs"}), vec!["README.md", "src/tools/a.rs"]),
        (json!({"pattern": "!tools"}), vec!["README.md", "src/lib.rs"]),
        (json!({"pattern": "!src/"}), vec!["README.md"]),
        (json!({"pattern": absolute}), vec!["README.md", "src/tools/a.rs"]),
        (json!({"pattern": "!LIB.rs"}), vec!["README.md", "src/lib.rs", "src/tools/a.rs"]),
        (json!({"pattern": "!LIB.rs", "case": "insensitive"}), vec!["README.md", "src/tools/a.rs"]),
        (json!({"pattern": "!a.rs", "file_glob": "*.rs"}), vec!["src/lib.rs"]),
    ] {
        let mut arguments = more.clone();
        arguments["target"] = "files".into();
        arguments["sort"] = "path".into();
        let result = place.call("search_files", arguments).await;
        assert_eq!(files(&result), expected, "{more}");
    }
    let error = place.call("search_files", json!({"pattern": "!", "target": "files"})).await;
    assert_eq!(error["kind"], "invalid_arguments", "{error}");
    place.write("!odd", "x");
    let literal = json!({"pattern": "\\!odd", "target": "files"});
    assert_eq!(files(&place.call("search_files", literal).await), ["!odd"]);
}

#[tokio::test]
async fn rough_names_are_found_with_their_letters() {
    let place = project();
    let arguments = json!({"pattern": "tols a", "target": "fuzzy", "path": "src"});
    let result = place.call("search_files", arguments).await;
    assert_eq!(files(&result), ["src/tools/a.rs"]);
    let letters: Vec<char> = "src/tools/a.rs".chars().collect();
    let positions = result["files"][0]["positions"].as_array().unwrap();
    let shown: String = positions.iter().map(|at| letters[at.as_u64().unwrap() as usize]).collect();
    assert_eq!(shown, "tolsa", "{result}");
    assert!(result["files"][0]["score"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn globs_types_and_switches_choose_files() {
    let place = project();
    for (arguments, expected) in [
        (json!({"file_glob": "*.rs"}), vec!["src/lib.rs", "src/tools/a.rs"]),
        (json!({"file_glob": "*.rs, !**/tools/**"}), vec!["src/lib.rs"]),
        (json!({"file_glob": "*.{md,txt}"}), vec!["README.md"]),
        (json!({"file_glob": "/*.md"}), vec!["README.md"]),
        (json!({"type": "rust"}), vec!["src/lib.rs", "src/tools/a.rs"]),
        (json!({"type": "rust, markdown"}), vec!["README.md", "src/lib.rs", "src/tools/a.rs"]),
        (json!({"hidden": true, "file_glob": "!src/**"}), vec![".env", "README.md"]),
    ] {
        let mut call = json!({"pattern": "needle", "output_mode": "files_only"});
        call.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let result = place.call("search_files", call).await;
        assert_eq!(files(&result), expected, "{arguments}");
    }
}

#[tokio::test]
async fn nothing_found_says_where_else_to_look() {
    let place = project();
    let result =
        place.call("search_files", json!({"pattern": "nowhere", "file_glob": "*.rs"})).await;
    assert_eq!((&result["total_count"], &result["total_is_exact"]), (&json!(0), &json!(true)));
    let hint = result["hint"].as_str().unwrap();
    for way in ["2 files", "file_glob", "hidden=true", "gitignore=false", "case=insensitive"] {
        assert!(hint.contains(way), "{way}: {hint}");
    }
}

#[tokio::test]
async fn matches_may_span_lines() {
    let place = Place::new();
    place.write("a.rs", "struct A {\n    x: u8,\n}\nstruct B;\n");
    let result = place.call("search_files", json!({"pattern": "struct A \\{\\n    x"})).await;
    assert_eq!(result["matches"][0]["content"], "struct A {\n    x: u8,");
    assert_eq!(result["total_count"], 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn odd_names_and_pipes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    fs::write(place.path().join(OsStr::from_bytes(b"caf\xE9.txt")), "needle\n").unwrap();
    place.write("with space", "needle\n");
    let made = std::process::Command::new("mkfifo").arg(place.path().join("pipe")).status();
    assert!(made.unwrap().success());
    let result = place.call("search_files", json!({"pattern": "needle"})).await;
    let address = format!("file://{}/caf%E9.txt", place.path().display());
    assert_eq!(result["matches"][0]["path"], address);
    assert_eq!(result["matches"][1]["path"], "with space");
    assert_eq!(result["skipped"], json!({"special": 1}));
}

#[tokio::test]
async fn links_lead_nowhere_unless_they_are_named() {
    let place = Place::new();
    place.write("ws/a", "needle\n");
    place.write("out/secret", "needle\n");
    symlink("../out", place.path().join("ws/way")).unwrap();
    symlink("../out/secret", place.path().join("ws/link")).unwrap();
    let result = place.call("search_files", json!({"pattern": "needle", "path": "ws"})).await;
    assert_eq!(result["total_count"], 1);
    let named = place.call("search_files", json!({"pattern": "needle", "path": "ws/link"})).await;
    assert_eq!(named["matches"][0]["path"], "ws/link");
}

#[tokio::test]
async fn only_what_was_granted_and_not_what_is_veiled() {
    let place = project();
    let none =
        place.call_within(Grants::from_effects(&[]), "search_files", json!({"pattern": "x"})).await;
    assert_eq!((&none["kind"], &none["rule"]), (&json!("denied"), &json!("undeclared-effect")));
    let mut cx = ToolContext::bare(place.path());
    let hides = |_: &Scope, real: &Path| real.file_name().is_some_and(|name| name == ".env");
    cx.grants = Arc::new(Grants::allow_all().with_exceptions(Arc::new(hides)));
    let arguments = json!({"pattern": "needle", "hidden": true, "output_mode": "files_only"});
    let call = tool("search_files").bind(&arguments).unwrap();
    let output = call.run(cx).await.unwrap();
    let result: Value = serde_json::from_str(output.content()).unwrap();
    assert!(!files(&result).contains(&".env"), "{result}");
    assert_eq!(result["skipped"]["protected"], 1);
}

#[tokio::test]
async fn a_call_can_be_stopped_or_run_out_of_time() {
    let place = project();
    let cx = ToolContext::bare(place.path());
    cx.cancel.cancel();
    let call = tool("search_files").bind(&json!({"pattern": "x"})).unwrap();
    assert_eq!(call.run(cx).await.unwrap_err().kind().name(), "cancelled");
    let mut cx = ToolContext::bare(place.path());
    cx.deadline = Some(Instant::now());
    let call = tool("search_files").bind(&json!({"pattern": "x"})).unwrap();
    let output = call.run(cx).await.unwrap();
    let result: Value = serde_json::from_str(output.content()).unwrap();
    assert_eq!(
        (&result["limit_reason"], &result["total_is_exact"]),
        (&json!("search_timeout"), &json!(false))
    );
    assert_eq!(result["truncated"], true);
}

#[tokio::test]
async fn nothing_found_is_explained_by_what_was_looked_at() {
    let place = Place::new();
    place.write("a", "x\n");
    fs::create_dir(place.path().join("empty")).unwrap();
    for (path, hint) in [
        ("a", "Nothing found in 1 file. To widen the search: case=insensitive."),
        ("empty", "No files to search. To widen the search: hidden=true for dotfiles"),
    ] {
        let result = place.call("search_files", json!({"pattern": "y", "path": path})).await;
        assert!(result["hint"].as_str().unwrap().starts_with(hint), "{result}");
    }
}

#[tokio::test]
async fn what_read_file_shows_is_found() {
    let place = Place::new();
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let legacy = b"Gr\xF6\xDFe des Geb\xE4udes, f\xFCnf Meter\n";
    place.write("legacy.txt", legacy);
    place.write("wide.txt", wide("needle Größe\nzwei Meter\n"));
    place.write("utf8.txt", "Größe in Metern: Meter\n");
    place.write("binary", b"Gr\xF6\xDFe\0\x01\x02\xFFMeter\n");
    place.write("long.txt", [&b"x".repeat(70_000)[..], b"\n", &legacy.repeat(20_000)[..]].concat());
    place.write("long-wide.txt", wide(&"Größe\n".repeat(100_000)));
    let count = |pattern: &str| {
        let arguments = json!({"pattern": pattern, "output_mode": "count"});
        place.call("search_files", arguments)
    };
    let answer = count("Größe").await;
    let counts = answer["counts"].as_object().unwrap();
    assert_eq!(counts["legacy.txt"], 1, "{answer}");
    assert_eq!(counts["wide.txt"], 1, "{answer}");
    assert_eq!(counts["utf8.txt"], 1, "{answer}");
    assert_eq!(counts["long-wide.txt"], 100_000, "{answer}");
    assert_eq!(counts["long.txt"], 20_000, "{answer}");
    assert_eq!(counts.get("binary"), None, "{answer}");
    let answer = count("Meter").await;
    assert_eq!(answer["counts"]["wide.txt"], 1, "{answer}");
    let arguments = json!({"pattern": "Gr.+e des", "path": "legacy.txt"});
    let answer = place.call("search_files", arguments).await;
    assert!(answer.to_string().contains("Größe des Gebäudes"), "{answer}");
    // Settings near the file count, too.
    place.write("said/.editorconfig", "root=true\n[*]\ncharset=latin1\n");
    place.write("said/x.txt", b"\x82\xA0 caf\xE9\n");
    let shown = place.call("read_file", json!({"path": "said/x.txt"})).await;
    assert!(shown.to_string().contains("café"), "{shown}");
    let answer = place.call("search_files", json!({"pattern": "café", "path": "said"})).await;
    assert_eq!(answer["total_count"], 1, "{answer}");
}

#[tokio::test]
async fn lines_that_end_with_carriage_returns_are_those_of_read_file() {
    let place = Place::new();
    place.write("cr.txt", "x1\rneedle\ry3\r");
    let found =
        place.call("search_files", json!({"pattern": "^needle$", "context": 1, "path": "cr.txt"}));
    let found = found.await;
    let one = &found["matches"][0];
    assert_eq!((&one["line"], &one["content"]), (&json!(2), &json!("needle")), "{found}");
    assert_eq!((&one["before"], &one["after"]), (&json!(["1- x1"]), &json!(["3- y3"])));
    let read = place.call("read_file", json!({"path": "cr.txt", "offset": 2, "limit": 1})).await;
    assert!(read["content"].as_str().unwrap().contains("2|needle"), "{read}");
    let count = json!({"pattern": "[exy]", "output_mode": "count"});
    assert_eq!(place.call("search_files", count).await["total_count"], 3);
}

#[tokio::test]
async fn blanks_at_the_end_are_kept_around_many_matches() {
    let place = Place::new();
    place.write("a.txt", "before  \nneedle \t\nafter \t\n--\n--\n".repeat(6));
    let found = place.call("search_files", json!({"pattern": "needle", "context": 1})).await;
    let text = found["matches_text"].as_str().unwrap();
    assert!(text.contains("  1- before  \n  2: needle \t\n  3- after \t\n"), "{text:?}");
}

#[tokio::test]
async fn only_what_was_looked_for_is_counted_when_nothing_is_found() {
    let place = project();
    fs::create_dir(place.path().join("empty")).unwrap();
    symlink("src", place.path().join("link")).unwrap();
    for (pattern, expected) in
        [("none", "Nothing found among 4 files."), ("none/", "Nothing found among 3 directories.")]
    {
        let found = place.call("search_files", json!({"pattern": pattern, "target": "files"}));
        let found = found.await;
        assert!(found["hint"].as_str().unwrap().starts_with(expected), "{found}");
    }
}

#[tokio::test]
async fn links_are_found_by_name_wherever_they_lead() {
    let place = project();
    for (target, name) in [("src", "l-folder"), ("README.md", "l-file"), ("gone", "l-broken")] {
        symlink(target, place.path().join(name)).unwrap();
    }
    let find = |pattern: &str| {
        place.call("search_files", json!({"pattern": pattern, "target": "files", "sort": "path"}))
    };
    let found = find("l-*").await;
    assert_eq!(files(&found), ["l-broken", "l-file", "l-folder"]);
    assert!(found["files"].as_array().unwrap().iter().all(|file| file["type"] == "symlink"));
    assert_eq!(files(&find("*/").await), ["src", "src/tools"]);
}

#[tokio::test]
async fn matches_over_lines_are_counted_one_by_one_and_it_is_said() {
    let place = Place::new();
    place.write("a.txt", "x x\nx\n");
    let count = |multiline: bool| {
        let arguments = json!({"pattern": "x", "output_mode": "count", "multiline": multiline});
        place.call("search_files", arguments)
    };
    let lines = count(false).await;
    assert_eq!((&lines["total_count"], &lines["hint"]), (&json!(2), &Value::Null));
    let matches = count(true).await;
    assert_eq!(matches["total_count"], 3);
    assert!(matches["hint"].as_str().unwrap().contains("not lines"), "{matches}");
}

/// The schema rejects a negative number, with an example.
#[test]
fn every_number_says_how_small_it_may_be() {
    for tool in hermes_tools_file::tools() {
        let parameters = tool.parameters();
        for (name, property) in parameters["properties"].as_object().unwrap() {
            let is_count = property["format"].as_str().is_some_and(|f| f.starts_with("uint"));
            let is_reported = property["minimum"].is_u64();
            assert!(!is_count || is_reported, "{}: {name}: {property}", tool.spec().name);
        }
    }
}
