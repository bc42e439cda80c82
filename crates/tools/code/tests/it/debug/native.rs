//! Native programs under lldb.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use serde_json::{Value, json};

use super::{local, place};
use crate::checks::{Project, has};

/// An executable made of this, if there is a debugger and a compiler.
fn built(project: &Project, compiler: &str, words: &[&str]) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let names = |dir: PathBuf| {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    let is_debugger =
        |name: &String| name.starts_with("lldb-dap") || name.starts_with("lldb-vscode");
    if !env::split_paths(&path).flat_map(names).any(|name| is_debugger(&name)) {
        eprintln!("skipped: lldb-dap is not installed");
        return false;
    }
    if !has(compiler) {
        return false;
    }
    let built = Command::new(compiler).args(words).current_dir(project.path()).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn native_programs_stop_at_breakpoints_and_signals() {
    let code = "#include <stdio.h>\n#include <stdlib.h>\nstruct point { int x; int y; };\nstatic int add(struct point *p, int by) {\n  p->x += by;\n  return p->x + p->y;\n}\nint main(int argc, char **argv) {\n  struct point p = {1, 2};\n  printf(\"%s\\n\", argv[1]);\n  fflush(stdout);\n  int sum = add(&p, 5);\n  if (sum == 8) abort();\n  return 0;\n}\n";
    let project = Project::of(&[("a.c", code)]);
    if !built(&project, "cc", &["-g", "-O0", "-o", "a", "a.c"]) {
        return;
    }
    let debug = async |args: Value| project.call("code_debug", args).await;
    let at = json!([{ "file": "a.c", "line": 6 }]);
    let stop = debug(json!({ "program": "a", "args": ["hello"], "breakpoints": at })).await;
    assert_eq!(
        (&stop["status"], &stop["reason"]),
        (&json!("stopped"), &json!("breakpoint")),
        "{stop:#}"
    );
    assert_eq!((place(&stop).0, place(&stop).1, local(&stop, "by")), ("a.c", 6, "5"), "{stop:#}");
    let field = debug(json!({ "action": "variables", "path": "p->x" })).await;
    assert_eq!(field["value"]["value"], "6", "{field:#}");
    let sum = debug(json!({ "action": "evaluate", "expression": "p->x + p->y" })).await;
    assert_eq!(sum["value"]["value"], "8", "{sum:#}");
    let out = debug(json!({ "action": "step_out" })).await;
    assert_eq!(place(&out).2, "main", "{out:#}");
    let abort = debug(json!({ "action": "continue" })).await;
    assert_eq!((&abort["status"], place(&abort).1), (&json!("stopped"), 13), "{abort:#}");
    let end = debug(json!({ "action": "continue" })).await;
    assert_eq!(end["status"], "ended", "{end:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_rust_is_stopped_at() {
    let code = "fn third(list: &[i32], at: usize) -> i32 {\n    list[at]\n}\n\nfn main() {\n    let list = vec![1, 2];\n    println!(\"{}\", third(&list, 2));\n}\n";
    let project = Project::of(&[("a.rs", code)]);
    if !built(&project, "rustc", &["-g", "-o", "a", "a.rs"]) {
        return;
    }
    let stop = project.call("code_debug", json!({ "program": "a" })).await;
    assert_eq!(
        (&stop["status"], &stop["reason"]),
        (&json!("stopped"), &json!("panic")),
        "{stop:#}"
    );
    assert_eq!((place(&stop).0, place(&stop).1, local(&stop, "at")), ("a.rs", 2, "2"), "{stop:#}");
    assert!(
        stop["output"].as_str().unwrap_or_default().contains("index out of bounds"),
        "{stop:#}"
    );
}
