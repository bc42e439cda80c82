//! Every file tool, once and many times.

use std::fs;
use std::io::{BufWriter, Write as _};
use std::sync::Arc;

use hermes_core::CancellationToken;
use serde_json::json;

use crate::place::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_file_tool_works_there_with_one_start() {
    let world = World::new();
    world.call("directory_list", json!({"path": "."})).await;
    let begun = world.backend.starts();

    let wrote = world.call("write_file", json!({"path": "a.txt", "content": "one\ntwo\n"})).await;
    assert!(wrote["error"].is_null(), "{wrote}");
    assert_eq!(fs::read_to_string(world.work().join("a.txt")).unwrap(), "one\ntwo\n");
    assert!(wrote["_note"].as_str().unwrap().contains("undo"), "{wrote}");

    let read = world.call("read_file", json!({"path": "a.txt"})).await;
    assert!(read.to_string().contains("two"), "{read}");

    let patch = json!({"path": "a.txt", "old_string": "two", "new_string": "three"});
    let patched = world.call("patch", patch).await;
    assert!(patched["error"].is_null(), "{patched}");
    assert!(patched["_note"].is_null(), "said only once: {patched}");
    assert_eq!(fs::read_to_string(world.work().join("a.txt")).unwrap(), "one\nthree\n");

    world.write("b.txt", "one\nfour\n");
    let found = world.call("search_files", json!({"pattern": "four", "path": "."})).await;
    assert!(found.to_string().contains("b.txt"), "{found}");

    let listed = world.call("directory_list", json!({"path": "."})).await;
    assert!(listed.to_string().contains("a.txt"), "{listed}");

    let differs = world.call("file_diff", json!({"path": "a.txt", "other_path": "b.txt"})).await;
    assert!(differs.to_string().contains("four"), "{differs}");

    let pack = json!({"action": "create", "archive": "p.tar.gz", "paths": ["a.txt", "b.txt"]});
    let packed = world.call("file_compress", pack).await;
    assert!(packed["error"].is_null(), "{packed}");
    let unpack = json!({"action": "extract", "archive": "p.tar.gz", "target": "out"});
    let unpacked = world.call("file_compress", unpack).await;
    assert!(unpacked["error"].is_null(), "{unpacked}");
    assert_eq!(fs::read_to_string(world.work().join("out/b.txt")).unwrap(), "one\nfour\n");

    let watched = world.call("file_watch", json!({"paths": ["."], "timeout": 1})).await;
    assert!(watched["error"].is_null(), "{watched}");

    assert_eq!(world.backend.starts(), begun, "no trip of its own for any call");
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_read_there_guards_what_is_written_there() {
    let world = World::new();
    let file = world.write("a.txt", "old\n");
    world.call("read_file", json!({"path": "a.txt"})).await;
    fs::write(&file, "changed by somebody\n").unwrap();
    let wrote = world.call("write_file", json!({"path": "a.txt", "content": "new\n"})).await;
    let text = fs::read_to_string(&file).unwrap();
    assert!(wrote["kind"] == "conflict" && text == "changed by somebody\n", "{wrote}");
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_calls_at_once_get_their_own_answers() {
    let world = World::new();
    world.call("directory_list", json!({"path": "."})).await;
    let begun = world.backend.starts();
    let world = Arc::new(world);
    let calls: Vec<_> = (0..100)
        .map(|n| {
            world.write(&format!("f{n}.txt"), format!("this is {n}.\n"));
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                world.call("read_file", json!({"path": format!("f{n}.txt")})).await
            })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        let answer = call.await.unwrap();
        assert!(answer.to_string().contains(&format!("this is {n}.")), "{answer}");
    }
    assert_eq!(world.backend.starts(), begun);
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_texts_go_both_ways() {
    let world = World::new();
    let line = "x".repeat(99) + "\n";
    let content = line.repeat(50_000);
    let wrote = world.call("write_file", json!({"path": "big.txt", "content": content})).await;
    assert!(wrote["error"].is_null(), "{wrote}");
    assert_eq!(fs::metadata(world.work().join("big.txt")).unwrap().len(), 5_000_000);
    let read = world.call("read_file", json!({"path": "big.txt", "offset": 49_999})).await;
    assert!(read["error"].is_null() && read.to_string().contains("xxx"), "{read}");
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_file_is_read_by_the_page() {
    let world = World::new();
    let path = world.work().join("huge.txt");
    let mut file = BufWriter::with_capacity(1 << 20, fs::File::create(&path).unwrap());
    let block = ("y".repeat(1023) + "\n").repeat(1024);
    for _ in 0..128 {
        file.write_all(block.as_bytes()).unwrap();
    }
    writeln!(file, "the last line").unwrap();
    file.into_inner().unwrap();
    let first = world.call("read_file", json!({"path": "huge.txt", "limit": 2})).await;
    assert!(first["error"].is_null(), "{first}");
    let arguments = json!({"path": "huge.txt", "offset": 128 * 1024 + 1, "limit": 1});
    let last = world.call("read_file", arguments).await;
    assert!(last.to_string().contains("the last line"), "{last}");
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_cancelled_stops_there_and_others_go_on() {
    let world = World::new();
    world.write("a.txt", "here\n");
    let arguments = json!({"paths": ["."], "timeout": 300});
    let mut cx = world.context("file_watch", &arguments);
    cx.cancel = CancellationToken::new();
    let cancel = cx.cancel.clone();
    let watching = world.call_in(cx, "file_watch", &arguments);
    let stopping = async {
        let read = world.call("read_file", json!({"path": "a.txt"})).await;
        cancel.cancel();
        read
    };
    let (watched, read) = tokio::join!(watching, stopping);
    assert_eq!(watched["kind"], "cancelled", "{watched}");
    assert!(read.to_string().contains("here"), "{read}");
    let read = world.call("read_file", json!({"path": "a.txt"})).await;
    assert!(read["error"].is_null(), "the server goes on: {read}");
    world.tool_host.close().await;
}

/// Long outputs and pictures lie here, and answers name them.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_our_own_is_read_here() {
    let world = World::new();
    let own = world.root().join("own");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("long.log"), "alpha\nbeta\n").unwrap();
    let path = own.join("long.log");
    let answer = world.call("read_file", json!({ "path": path })).await;
    assert!(answer["content"].as_str().unwrap().contains("beta"), "{answer}");
    assert_eq!(world.backend.starts(), 0, "nobody went there for it");
    // What is not there may be over there, and nothing is written here.
    let answer = world.call("read_file", json!({ "path": own.join("other.log") })).await;
    assert_eq!(answer["kind"], "not_found", "{answer}");
    assert!(world.backend.starts() > 0);
    world.tool_host.close().await;
}
