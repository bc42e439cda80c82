//! Scripts that call tools, through the whole engine, with real interpreters.

mod desk;
mod elsewhere;
mod escapes;
mod node;

use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use hermes_core::{CancellationToken, Ruling, ToolCall, Verdict};
use hermes_scripts::ScriptLimits;
use serde_json::{Value, json};

use desk::{Desired, Desk, alive, eventually, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_script_gives_what_it_prints_and_how_it_ended() {
    let desk = Desk::new();
    let answer = desk.run("import sys\nprint('é', 1 + 1)\nprint('aside', file=sys.stderr)").await;
    assert_eq!(answer["output"], "é 2\n--- stderr ---\naside\n", "{answer}");
    assert_eq!((&answer["status"], &answer["exit_code"]), (&json!("success"), &json!(0)));
    assert_eq!(answer["tool_calls_made"], 0);
    assert_eq!(answer["stdout_truncated"], false);
    assert_eq!(answer["stdout_bytes_total"], 5);
    assert_eq!(answer["stdout_bytes_captured"], 5);
    assert_eq!(answer["stdout_bytes_omitted"], 0);
    assert!(answer["duration_seconds"].as_f64().unwrap() > 0.0);
    assert!(answer.get("error").is_none() && answer.get("warning").is_none(), "{answer}");
    let alias = desk.call("code_execute", json!({ "code": "print(1)" })).await;
    assert_eq!(alias["output"], "1\n");
    let empty = desk.run(" \n").await;
    assert_eq!(empty["kind"], "invalid_arguments", "{empty}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_error_is_told_with_its_name_and_begin() {
    let desk = Desk::new();
    let long = desk.run("raise ValueError('x' * 40000)").await;
    assert!(text(&long["error"]).starts_with("ValueError: xxx"), "{long}");
    let code = "import sys; sys.stderr.write('z' * 30000 + '\\nlast line\\n')";
    let line = desk.run(code).await;
    let shown = text(&line["output"]);
    assert!(shown.ends_with("zzz\nlast line\n") && shown.len() > 9_000, "{}", shown.len());
    let dir = desk.run("import os; print(os.environ['PWD'] == os.getcwd())").await;
    assert_eq!(dir["output"], "True\n", "{dir}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_told_as_python_tells_it() {
    let desk = Desk::new();
    let code = "def f():\n    raise ValueError('no such number')\nprint('so far')\nf()\n";
    let answer = desk.run(code).await;
    let output = text(&answer["output"]);
    assert_eq!(
        (&answer["status"], &answer["exit_code"], &answer["error"]),
        (&json!("error"), &json!(1), &json!("ValueError: no such number")),
        "{answer}"
    );
    assert!(output.starts_with("so far\n--- stderr ---\nTraceback (most recent call last):\n"));
    assert!(output.contains("script.py\", line 4, in <module>\n    f()\n"), "{output}");
    assert!(!output.contains("<string>"), "only the script's own lines: {output}");
    let syntax = desk.run("print('a')\nif True\n").await;
    assert!(text(&syntax["error"]).starts_with("SyntaxError"), "{syntax}");
    assert!(text(&syntax["output"]).contains("line 2"), "{syntax}");
    let code = desk.run("import sys; sys.exit(7)").await;
    assert_eq!((&code["exit_code"], &code["status"]), (&json!(7), &json!("error")));
    assert_eq!(code["error"], "The script ended with code 7");
    let signal = desk.run("import os; os.kill(os.getpid(), 9)").await;
    assert_eq!(signal["error"], "The script was killed by signal 9", "{signal}");
    desk.close().await;
}

/// `compile()` makes every class of `ast`, which takes a millisecond and more.
#[tokio::test(flavor = "multi_thread")]
async fn a_script_is_compiled_under_its_name_and_without_the_classes_of_ast() {
    let desk = Desk::new();
    let code = r#"
import sys
look = "any(it.__name__ == 'AST' for it in object.__subclasses__())"
has_made = eval(look)
def outer():
    return (lambda: sys._getframe().f_code)()
names = {it.co_filename for it in (sys._getframe().f_code, outer.__code__, outer())}
print(names == {__file__}, outer().co_name, sys.gettrace())
import subprocess, warnings
# What the interpreter has installed may need them from the start.
bare = subprocess.run([sys.executable, "-c", f"print({look})"], stdout=subprocess.PIPE)
print(bare.stdout.decode().strip() == str(has_made))
print([it for it in warnings.filters if it[0] == "error"])
"#;
    let answer = desk.run(code).await;
    assert_eq!(answer["output"], "True <lambda> None\nTrue\n[]\n", "{answer}");
    let warned = desk.run("print(1 is 1)").await;
    let output = text(&warned["output"]);
    assert!(output.starts_with("True\n--- stderr ---\n"), "{warned}");
    assert!(output.contains("script.py:1: SyntaxWarning: \"is\" with"), "{warned}");
    assert_eq!(output.matches("SyntaxWarning").count(), 1, "{warned}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_functions_that_return_values_and_errors() {
    let desk = Desk::new();
    desk.write("a.txt", "alpha");
    let code = r#"
from hermes_tools import read_file, write_file, ToolError, tools, json_parse, shell_quote, retry
import hermes_tools, pathlib
print(read_file("a.txt")["content"], read_file(path=pathlib.Path("a.txt"), limit=1)["limit"])
print(write_file("b.txt", "x" * 200000)["bytes"])
failed = read_file("nowhere")
print(failed["kind"], "|", failed["error"], "|", failed["hint"], "|", failed["tried"], failed.ok)
try:
    failed["content"]
except KeyError as error:
    print(isinstance(error, ToolError), error)
good = read_file("a.txt")
print(good.ok, good.raise_for_error() is good, "missing" in good, type(good).__name__)
print(",".join(tools()))
print(json_parse('{"a": "b\nc"}'), shell_quote("a b"))
tries = []
def flaky():
    tries.append(1)
    if len(tries) < 3: raise ToolError("x", {})
    return "third"
print(retry(flaky, 3, 0))
asked = []
def failing():
    asked.append(1)
    return read_file("nowhere")
print(retry(failing, 2, 0).ok, len(asked))
import inspect
print(inspect.signature(read_file), read_file.__doc__.splitlines()[0])
read_file("nowhere").raise_for_error()
"#;
    let answer = desk.run(code).await;
    let output = text(&answer["output"]);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "alpha 1", "{answer}");
    assert_eq!(lines[1], "200000");
    assert_eq!(lines[2], "not_found | There is no nowhere | Look again. | here False");
    assert_eq!(lines[3], "True read_file: There is no nowhere (not_found) Look again.");
    assert_eq!(lines[4], "True True False ToolResult");
    assert_eq!(lines[5], "read_file,write_file,terminal");
    assert_eq!(lines[6], "{'a': 'b\\nc'} 'a b'");
    assert_eq!(lines[7..9], ["third", "False 2"]);
    assert_eq!(lines[9], "(path: 'str', limit: 'int' = 500) -> 'dict' Reads.");
    assert_eq!(
        answer["error"],
        "hermes_tools.ToolError: read_file: There is no nowhere (not_found) Look again."
    );
    assert_eq!(answer["tool_calls_made"], 8);
    assert_eq!(desk.read("b.txt").len(), 200_000);
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_passes_the_whole_pipeline() {
    let judge = |proposal: &hermes_core::CallProposal<'_>| {
        let secret = proposal.arguments["path"] == "secret.txt";
        let deny = Verdict::Deny { reason: "it is secret".into(), rule: "test".into() };
        let verdict = if secret { deny } else { Verdict::Allow };
        Ruling::for_effects(verdict, proposal.effects)
    };
    let desk = Desk::judged(judge);
    desk.write("a.txt", "alpha");
    let code = r#"
from hermes_tools import read_file
print(type(read_file("a.txt", limit="7")["limit"]).__name__)
for words in [{"path": "secret.txt"}, {"path": "a.txt", "limit": "many"}]:
    print(read_file(**words)["kind"])
"#;
    let answer = desk.run(code).await;
    assert_eq!(answer["output"], "int\ndenied\ninvalid_arguments\n", "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_made_in_parallel_from_threads_and_from_asyncio() {
    let desk = Desk::new();
    // Four of them meet inside the tool, or none comes back.
    let code = r#"
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import read_file, aio
import asyncio
with ThreadPoolExecutor(4) as pool:
    print(sorted(r["n"] for r in pool.map(lambda n: read_file("meet", limit=n), range(1, 5))))
async def main():
    return await asyncio.gather(*(aio.read_file("meet", limit=n) for n in range(5, 9)))
print(sorted(r["n"] for r in asyncio.run(main())))
async def threads():
    return await asyncio.gather(*(asyncio.to_thread(read_file, "meet", n) for n in range(4)))
print(len(asyncio.run(threads())))
"#;
    let answer = desk.call("execute_code", json!({ "code": code, "timeout": 60 })).await;
    assert_eq!(answer["output"], "[1, 2, 3, 4]\n[5, 6, 7, 8]\n4\n", "{answer}");
    assert_eq!(answer["tool_calls_made"], 12);
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_add_tools_and_change_limits() {
    let limits = ScriptLimits {
        extra_tools: vec!["extra".into(), "execute_code".into(), "nonesuch".into()],
        tool_calls: 2,
        stdout: 1_000,
        stderr: 200,
        ..ScriptLimits::default()
    };
    let desk = Desk::limited(limits);
    let code = "import sys\nfrom hermes_tools import *\nimport hermes_tools\n\
                print(','.join(hermes_tools.tools()), extra(word='hi')['word'])\n\
                print('x' * 5000)\nfor n in range(99): print('line', n, file=sys.stderr)\n";
    let answer = desk.run(code).await;
    let output = text(&answer["output"]);
    assert!(output.starts_with("read_file,write_file,terminal,extra hi\n"), "{answer}");
    assert!(output.ends_with("line 98\n") && !output.contains("line 60\n"), "{answer}");
    assert_eq!(answer["stdout_truncated"], true);
    let number = |name: &str| answer[name].as_u64().unwrap();
    let (all, some) = (number("stdout_bytes_total"), number("stdout_bytes_captured"));
    assert_eq!(all, some + number("stdout_bytes_omitted"));
    assert!(some <= 1_000 && all > 5_000, "{answer}");
    let long = desk.call("execute_code", json!({ "code": "pass", "timeout": 9_999 })).await;
    assert_eq!(long["warning"], "`timeout` was reduced to the limit of 300 s", "{long}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_such_tools_offers_none() {
    let desk = Desk::bare();
    let answer = desk.run("import hermes_tools\nprint(hermes_tools.tools())").await;
    assert_eq!(answer["output"], "[]\n", "{answer}");
    let answer = desk.run("from hermes_tools import read_file").await;
    assert!(text(&answer["error"]).starts_with("ImportError"), "{answer}");
    assert_eq!(answer["warning"], "In this session hermes_tools has no tool", "{answer}");
    let answer = desk
        .run("import hermes_tools\nhermes_tools._call('read_file', {}).raise_for_error()")
        .await;
    assert!(text(&answer["error"]).contains("This session has no tool"), "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn project_mode_finds_the_folder_its_modules_and_its_virtualenv() {
    let desk = Desk::new();
    desk.write("mine.py", "WORD = 'from the project'\n");
    let code = "import os, sys, mine\nprint(mine.WORD, os.getcwd(), __name__, len(sys.argv))";
    let answer = desk.run(code).await;
    let here = desk.path().canonicalize().unwrap();
    let wanted = format!("from the project {} __main__ 1\n", here.display());
    assert_eq!(answer["output"], wanted, "{answer}");
    desk.virtualenv();
    let code = "import os, sys\nprint(sys.prefix, os.environ['VIRTUAL_ENV'])";
    let answer = desk.run(code).await;
    let home = desk.path().join(".venv");
    assert_eq!(answer["output"], format!("{0} {0}\n", home.display()), "{answer}");
    for name in ["bin/python", "bin/python3"] {
        std::fs::remove_file(home.join(name)).unwrap();
    }
    let answer = desk.run("print(1)").await;
    assert_eq!(answer["output"], "1\n");
    assert!(text(&answer["warning"]).contains("its Python is missing"), "{answer}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strict_mode_is_a_clean_place_with_the_module() {
    let desk = Desk::new();
    desk.write("mine.py", "");
    desk.write("a.txt", "alpha");
    let code = "import os, sys\nfrom hermes_tools import read_file\n\
                print(read_file('a.txt')['content'], os.listdir('.'), sys.flags.isolated)\n\
                print(sorted(n for n in os.environ if not n.startswith(('LC_', 'LANG'))))\n\
                open('scratch', 'w').write('x')\nprint(os.getcwd() == os.environ['HOME'])\n\
                import mine";
    let answer = desk.call("execute_code", json!({ "code": code, "mode": "strict" })).await;
    let output = text(&answer["output"]);
    assert!(output.starts_with("alpha [] 1\n"), "{answer}");
    for name in ["PATH", "HOME", "TMPDIR", "HERMES_RPC_TOKEN"] {
        assert!(output.contains(&format!("'{name}'")), "{answer}");
    }
    assert!(!output.contains("CARGO") && !output.contains("USER"), "{answer}");
    assert!(output.contains("\nTrue\n"), "{answer}");
    assert_eq!(answer["error"], "ModuleNotFoundError: No module named 'mine'", "{answer}");
    assert!(!desk.path().join("scratch").exists());
    let again = desk.call("execute_code", json!({ "code": code, "mode": "strict" })).await;
    assert!(text(&again["output"]).starts_with("alpha [] 1\n"), "left by the first: {again}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_a_script_starts_find_the_module() {
    let desk = Desk::new();
    desk.write("a.txt", "alpha");
    desk.write(
        "child.py",
        "from hermes_tools import read_file\nprint(read_file('a.txt')['content'])\n",
    );
    let code = "import os, subprocess, sys\nfrom hermes_tools import read_file\n\
                read_file('a.txt')\n\
                subprocess.run([sys.executable, 'child.py'], check=True)\n\
                pid = os.fork()\n\
                print(read_file('a.txt')['content'], flush=True)\n\
                if pid: os.waitpid(pid, 0)\nelse: os._exit(0)\n\
                import multiprocessing\n\
                if __name__ == '__main__':\n    \
                    with multiprocessing.get_context('fork').Pool(2) as pool:\n        \
                        print(len(pool.map(read_file, ['a.txt'] * 4)))\n";
    let answer = desk.run(code).await;
    assert_eq!(answer["output"], "alpha\nalpha\nalpha\n4\n", "{answer}");
    assert_eq!(answer["tool_calls_made"], 8);
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_can_stop_a_script_and_what_it_waits_for() {
    let mut desk = Desk::new();
    let cancel = CancellationToken::new();
    desk.caller.cancel = cancel.clone();
    let desk = Arc::new(desk);
    let code = "from hermes_tools import terminal\nprint('begun', flush=True)\n\
                open('mark', 'w').close()\nterminal('forever')";
    let call = tokio::spawn({
        let desk = Arc::clone(&desk);
        async move {
            let call = ToolCall::new("1", "execute_code", json!({ "code": code }));
            desk.engine.call(call, &desk.caller).await
        }
    });
    eventually("it runs", || desk.path().join("mark").exists() && desk.forever() == 1).await;
    cancel.cancel();
    let result = call.await.unwrap();
    let answer: Value = serde_json::from_str(&result.content).unwrap();
    let said = answer["status"] == "interrupted" || answer["kind"] == "cancelled";
    assert!(said, "{answer}");
    eventually("the tool has stopped", || desk.forever() == 0).await;
    eventually("the script has ended", || alive(desk.path()) == 0).await;
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_when_all_is_closed() {
    let desk = Desk::new();
    let code = "import os\nprint(os.environ['HERMES_RPC_SOCKET'])\nopen('kept', 'w').close()";
    let answer = desk.run(code).await;
    let door = std::path::PathBuf::from(text(&answer["output"]).trim());
    assert!(!door.exists(), "closed after the run");
    let room = door.parent().unwrap();
    assert_eq!(std::fs::read_dir(room).unwrap().count(), 0, "and empty");
    let again = desk.run(code).await;
    assert_eq!(again["output"], answer["output"], "it is used again");
    desk.close().await;
    assert!(!room.parent().unwrap().exists());
    assert!(desk.path().join("kept").exists());
}

/// What a script has read the model has not seen, and the other way round.
#[tokio::test(flavor = "multi_thread")]
async fn scripts_and_models_do_not_read_for_one_another() {
    let desk = Desk::with(Desired { has_files: true, ..Desired::default() });
    desk.write("a.txt", "alpha\n");
    let script = "from hermes_tools import read_file\nprint(read_file('a.txt')['content'])";
    let read = async || desk.call("read_file", json!({ "path": "a.txt" })).await;
    assert!(text(&desk.run(script).await["output"]).contains("alpha"));
    let first = read().await;
    assert!(text(&first["content"]).contains("alpha"), "it was never shown: {first}");
    for _ in 0..2 {
        let seen = desk.run(script).await;
        assert!(text(&seen["output"]).contains("alpha"), "a script sees it all: {seen}");
    }
    assert_eq!(read().await["status"], "unchanged", "what was shown still holds");
    // The script sees the new text, the model only has the old one.
    desk.write("a.txt", "beta\n");
    assert!(text(&desk.run(script).await["output"]).contains("beta"));
    let last = read().await;
    assert!(text(&last["content"]).contains("beta"), "{last}");
    desk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_any_bytes_are_found_and_half_characters_are_refused() {
    let desk = Desk::with(Desired { has_files: true, ..Desired::default() });
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9 %41.txt");
    std::fs::write(desk.path().join(name), "alpha\n").unwrap();
    let code = r#"
import os, pathlib
from hermes_tools import read_file, write_file
[name] = os.listdir()
print(read_file(name)["content"], read_file(pathlib.Path(name))["content"])
try:
    write_file("b.txt", "half \ud83d")
except ValueError as error:
    print(error)
write_file("b.txt", "whole \U0001f600")
print(read_file("b.txt")["content"], os.path.exists("b.txt"))
"#;
    let answer = desk.run(code).await;
    let output = text(&answer["output"]);
    assert!(output.contains("alpha") && output.matches("alpha").count() == 2, "{answer}");
    assert!(output.contains("content is not valid text: it contains a lone surrogate"), "{answer}");
    assert!(output.contains("whole 😀 True"), "{answer}");
    if desk::has_node() {
        let code = "import { write_file, read_file } from 'hermes_tools';\n\
                    try { await write_file('c.txt', '😀'[0]); } catch (e) { console.log(e.message); }\n\
                    await write_file('c.txt', '😀');\nconsole.log((await read_file('c.txt')).content);";
        let answer = desk.node(code).await;
        let output = text(&answer["output"]);
        assert!(output.starts_with("content is not valid") && output.contains("😀"), "{answer}");
    }
    desk.close().await;
}
