#![allow(clippy::unwrap_used)]

use std::process::Command;

use serde_json::json;

use super::*;

fn parameter(name: &str, schema: Value, is_required: bool) -> ToolParameter {
    ToolParameter { name: name.into(), schema, is_required }
}

fn odd() -> Vec<CallableTool> {
    let texts = json!({ "type": "string", "description": "Says \"\"\" and */ and \\ and\nmore." });
    let one_of = json!({ "enum": ["a", "b's"], "default": "a" });
    let maybe = json!({ "type": ["array", "null"], "items": { "type": "integer" } });
    let switch = json!({ "type": "boolean", "default": true });
    let any = json!({ "anyOf": [{ "type": "number" }, { "type": "string" }] });
    vec![
        CallableTool {
            name: "odd".into(),
            description: "Line one\nLine \"two\" \u{2028} */".into(),
            parameters: vec![
                parameter("path", texts, true),
                parameter("class", one_of, false),
                parameter("list_of", maybe, false),
                parameter("switch", switch, false),
                parameter("more", any, false),
                parameter("with-dash", json!({}), false),
            ],
            accepts_extra: false,
        },
        CallableTool {
            name: "mcp-retry".into(),
            description: String::new(),
            parameters: vec![],
            accepts_extra: true,
        },
        CallableTool {
            name: "retry".into(),
            description: String::new(),
            parameters: vec![],
            accepts_extra: true,
        },
    ]
}

#[test]
fn python_reads_what_is_made_of_odd_schemas() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("hermes_tools.py"), python_module(&odd())).unwrap();
    let code = "import inspect, hermes_tools as h\n\
                print(inspect.signature(h.odd))\n\
                import typing; assert typing.get_type_hints(h.odd)['class_'] == typing.Literal['a', \"b's\"]\n\
                h._call = lambda tool, given: (tool, given)\n\
                print(h.odd('p', class_='b', **{'with-dash': 1}))\n\
                print(h.tools(), callable(h.tool_retry))\n\
                print(h.odd.__doc__.splitlines()[0])\n";
    let output =
        Command::new("python3").args(["-B", "-c", code]).current_dir(dir.path()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(lines[0].starts_with("(path: 'str', class_: 'Literal["), "{}", lines[0]);
    let rest = "list_of: 'list[int] | None' = None, switch: 'bool' = True, \
                more_: 'float | str' = None, **more) -> 'dict'";
    assert!(lines[0].ends_with(rest), "{}", lines[0]);
    assert_eq!(
        lines[1],
        "('odd', {'path': 'p', 'class': 'b', 'list_of': None, 'switch': True, 'more': None, \
         'with-dash': 1})"
    );
    assert_eq!(lines[2], "['odd', 'mcp_retry', 'tool_retry'] True");
    assert_eq!(lines[3], "Line one");
}

#[test]
fn node_reads_what_is_made_of_odd_schemas() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in node_package(&odd()) {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let code = "import { odd, tools } from 'hermes_tools'; import { createRequire } from 'module';\n\
                const same = createRequire(process.cwd() + '/x')('hermes_tools');\n\
                console.log(tools().join(), odd === same.odd);\n";
    let Ok(output) = Command::new("node")
        .args(["--input-type=module", "-e", code])
        .current_dir(dir.path())
        .output()
    else {
        eprintln!("skipped: node is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        text,
        "odd,mcp_retry,tool_retry true\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_same_tools_make_the_same_module() {
    let stubs = StubCache::default();
    let tools = Arc::new(odd());
    let once = stubs.module_files(ScriptLanguage::Python, &tools);
    assert!(Arc::ptr_eq(&once, &stubs.module_files(ScriptLanguage::Python, &Arc::new(odd()))));
    let fewer = Arc::new(odd().split_off(1));
    assert_ne!(once, stubs.module_files(ScriptLanguage::Python, &fewer));
    assert_ne!(once, stubs.module_files(ScriptLanguage::JavaScript, &tools));
}
