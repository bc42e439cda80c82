//! The server dies: no call waits forever, and nothing is done twice.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::json;

use crate::place::World;

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = kill_process(pid, Signal::KILL);
}

fn is_running(pid: u32) -> bool {
    // A zombie is no longer running.
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().starts_with(" Z"))
}

/// Waits until a process has a file open.
async fn until_open(pid: u32, what: &str) {
    for _ in 0..600 {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        if open.any(|target| target == Path::new(what)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{pid} never opened {what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reading_call_is_made_again_after_the_server_was_killed() {
    let world = Arc::new(World::new());
    world.write("a.txt", "here\n");
    world.call("read_file", json!({"path": "a.txt"})).await;
    let begun = world.backend.starts();
    let watching = {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            world.call("file_watch", json!({"paths": ["."], "timeout": 3})).await
        })
    };
    until_open(world.server_pid(), "anon_inode:inotify").await;
    kill(world.server_pid());
    let watched = watching.await.unwrap();
    assert!(watched["error"].is_null(), "{watched}");
    assert_eq!(world.backend.starts(), begun + 1);
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changing_call_is_not_made_again() {
    let world = Arc::new(World::new());
    world.write("a.txt", "here\n");
    world.call("read_file", json!({"path": "a.txt"})).await;
    // It cannot finish: another process has the directory locked.
    let dir = fs::File::open(world.work()).unwrap();
    rustix::fs::flock(&dir, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let writing = {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            world.call("write_file", json!({"path": "b.txt", "content": "x\n"})).await
        })
    };
    until_open(world.server_pid(), &world.work().to_string_lossy()).await;
    kill(world.server_pid());
    let wrote = writing.await.unwrap();
    drop(dir);
    assert!(wrote["error"].as_str().unwrap().contains("not known whether"), "{wrote}");
    assert!(!world.work().join("b.txt").exists());
    let next = world.call("write_file", json!({"path": "b.txt", "content": "y\n"})).await;
    assert!(next["error"].is_null(), "the next call works: {next}");
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_ends_when_it_is_closed_or_forgotten() {
    let world = World::new();
    let listed = world.call("directory_list", json!({"path": "."})).await;
    assert!(listed["error"].is_null(), "{listed}");
    let first = world.server_pid();
    assert!(is_running(first), "{:?}", fs::read_to_string(format!("/proc/{first}/stat")));
    world.tool_host.close().await;
    assert!(!is_running(first));
    world.call("directory_list", json!({"path": "."})).await;
    let second = world.server_pid();
    assert!(is_running(second));
    drop(world);
    for _ in 0..200 {
        if !is_running(second) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it still runs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_falls_silent_is_given_up() {
    let world = World::impatient(Duration::from_secs(5));
    world.write("a.txt", "here\n");
    world.call("read_file", json!({"path": "a.txt"})).await;
    let stopped = world.server_pid();
    let pid = Pid::from_raw(i32::try_from(stopped).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let read = world.call("read_file", json!({"path": "a.txt"})).await;
    let why = read["error"].as_str().unwrap_or_default();
    assert!(why.contains("no longer responds"), "{read}");
    // The next call gets a new server, and the old one has exited.
    let read = world.call("read_file", json!({"path": "a.txt"})).await;
    assert!(read["error"].is_null(), "{read}");
    while is_running(stopped) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.tool_host.close().await;
}
