//! Scripts where commands run in another place: their calls come back.

use std::path::Path;
use std::sync::Arc;

use hermes_exec::RemoteBackend;
use hermes_testkit::backends::LoopbackTransport;
use serde_json::json;

use super::desk::{Desired, Desk, has_node, text};

fn desk() -> Desk {
    let way = LoopbackTransport { home: Some("/".into()), ..LoopbackTransport::default() };
    let desk = Desk::with(Desired {
        backend: Some(Arc::new(RemoteBackend::new(way))),
        ..Desired::default()
    });
    desk.write("a.txt", "alpha");
    desk
}

#[tokio::test(flavor = "multi_thread")]
async fn python_calls_tools_from_another_place() {
    let desk = desk();
    let code = r#"
import os
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import read_file, write_file
print(os.environ["HERMES_RPC_SOCKET"], os.getcwd())
print(read_file("a.txt")["content"], write_file("b.txt", "é" * 300000)["bytes"])
with ThreadPoolExecutor(4) as pool:
    print(sorted(r["n"] for r in pool.map(lambda n: read_file("meet", limit=n), range(4))))
print(read_file("nowhere")["kind"])
raise ValueError("at the end")
"#;
    let answer = desk.run(code).await;
    let output = text(&answer["output"]);
    let lines: Vec<&str> = output.lines().collect();
    let (door, cwd) = lines[0].split_once(' ').unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(Path::new(cwd), desk.path().canonicalize().unwrap(), "{answer}");
    assert_eq!(lines[1..4], ["alpha 600000", "[0, 1, 2, 3]", "not_found"], "{answer}");
    assert_eq!(answer["error"], "ValueError: at the end");
    assert_eq!(answer["tool_calls_made"], 7);
    assert!(!Path::new(door).parent().unwrap().exists(), "its folder is gone");
    let strict = json!({ "code": "import os, hermes_tools\nprint(os.listdir(), 'USER' in os.environ, hermes_tools.read_file('a.txt')['content'])", "mode": "strict" });
    let answer = desk.call("execute_code", strict).await;
    assert!(text(&answer["output"]).ends_with("False alpha\n"), "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_calls_tools_from_another_place() {
    if !has_node() {
        return;
    }
    let desk = desk();
    let code = r#"
import { read_file, write_file } from 'hermes_tools';
console.log((await read_file('a.txt')).content, (await write_file('b.txt', 'x'.repeat(300000))).bytes);
const all = await Promise.all([1, 2, 3, 4].map((limit) => read_file({ path: 'meet', limit })));
console.log(all.map((one) => one.n).join());
"#;
    let answer = desk.node(code).await;
    assert_eq!(answer["output"], "alpha 300000\n1,2,3,4\n", "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time_is_up_in_another_place_as_well() {
    let desk = desk();
    let code = "import subprocess\nsubprocess.Popen(['sleep', '1000'])\n\
                print('so far', flush=True)\nwhile True: pass";
    let answer = desk.call("execute_code", json!({ "code": code, "timeout": 5 })).await;
    assert_eq!((&answer["status"], &answer["output"]), (&json!("timeout"), &json!("so far\n")));
    desk.close().await;
}
