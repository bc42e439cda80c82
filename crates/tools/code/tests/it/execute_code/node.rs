//! Scripts in JavaScript.

use serde_json::json;

use super::desk::{Desk, has_node, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_module_calls_tools_and_waits_for_several_at_once() {
    if !has_node() {
        return;
    }
    let desk = Desk::new();
    desk.write("a.txt", "alpha");
    desk.write("mine.mjs", "export const word = 'from the project';\n");
    let code = r#"
import { read_file, write_file, ToolError, tools, shell_quote, json_parse } from 'hermes_tools';
import { word } from './mine.mjs';
const fs = require('fs');
console.log((await read_file({ path: 'a.txt' })).content, (await read_file('a.txt', 3)).limit);
const all = await Promise.all([1, 2, 3, 4].map((limit) => read_file({ path: 'meet', limit })));
console.log(all.map((one) => one.n).join(), word, fs.existsSync('a.txt'), tools().join());
const big = await write_file('b.txt', 'é'.repeat(100000));
console.log(big.bytes, shell_quote("a'b"), json_parse('{"a":"b\tc"}').a.length);
const failed = await read_file('nowhere');
console.log(failed.ok, failed.kind, failed.hint, Object.keys(big).includes('ok'), big.ok);
try {
  failed.raise_for_error();
} catch (error) {
  console.log(error instanceof ToolError, error.kind, error.hint);
}
throw new TypeError('at the end');
"#;
    let answer = desk.node(code).await;
    let output = text(&answer["output"]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "alpha 3", "{answer}");
    assert_eq!(lines[1], "1,2,3,4 from the project true read_file,write_file,terminal");
    assert_eq!(lines[2], "200000 'a'\"'\"'b' 3");
    assert_eq!(lines[3], "false not_found Look again. false true");
    assert_eq!(lines[4], "true not_found Look again.");
    assert_eq!(answer["error"], "TypeError: at the end", "{answer}");
    assert_eq!((&answer["exit_code"], &answer["tool_calls_made"]), (&json!(1), &json!(8)));
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_requires_the_same_and_ends_when_it_is_done() {
    if !has_node() {
        return;
    }
    let desk = Desk::new();
    desk.write("a.txt", "alpha");
    let code = "const { read_file } = require('hermes_tools');\n\
                read_file('a.txt').then((r) => console.log(r.content, module.paths.length > 0));\n\
                undeclared = 1;";
    let answer = desk.node(code).await;
    assert_eq!((&answer["output"], &answer["status"]), (&json!("alpha true\n"), &json!("success")));
    let strict = json!({ "code": "console.log(process.env.USER, require('hermes_tools').tools().length)",
        "language": "javascript", "mode": "strict" });
    let answer = desk.call("execute_code", strict).await;
    assert_eq!(answer["output"], "undefined 3\n", "{answer}");
    let missing = desk.node("import { memory } from 'hermes_tools';").await;
    assert!(text(&missing["warning"]).contains("read_file, write_file, terminal"), "{missing}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_looks_like_a_module_is_a_program() {
    if !has_node() {
        return;
    }
    let desk = Desk::new();
    let program = desk.node("// we await nothing\nx = 1; console.log(x, typeof module)").await;
    assert_eq!(program["output"], "1 object\n", "{program}");
    let long = desk.node("throw new RangeError('y'.repeat(40000))").await;
    assert!(text(&long["error"]).starts_with("RangeError: yyy"), "{}", long["error"]);
    let endless = desk.node("await new Promise(() => {})").await;
    assert!(text(&endless["error"]).contains("top-level await never settled"), "{endless}");
    desk.close().await;
}
