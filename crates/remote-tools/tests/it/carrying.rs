//! How the program is installed on the backend.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use crate::place::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_put_there_once_and_then_started_at_once() {
    let world = World::new();
    let listed = world.call("directory_list", json!({"path": "."})).await;
    assert!(listed["error"].is_null(), "{listed}");
    // The probe, the upload, the start.
    assert_eq!(world.backend.starts(), 3);
    world.tool_host.close().await;
    world.call("directory_list", json!({"path": "."})).await;
    assert_eq!(world.backend.starts(), 4, "it was there");
    world.tool_host.close().await;

    let cache = world.root().join("home/.cache/hermes");
    let kept: Vec<_> = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1, "nothing else is left: {kept:?}");
    let mode = fs::metadata(&kept[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_cache_folder_it_goes_among_temporary_files() {
    let world = World::new();
    fs::write(world.root().join("home/.cache"), "in the way").unwrap();
    let listed = world.call("directory_list", json!({"path": "."})).await;
    assert!(listed["error"].is_null(), "{listed}");
    let tmp = fs::read_dir(world.root().join("home/tmp")).unwrap();
    let names: Vec<_> = tmp.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.len() == 1 && names[0].starts_with("hermes-"), "{names:?}");
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_tar_it_goes_file_by_file() {
    let world = World::new();
    let programs = world.root().join("programs");
    fs::create_dir(&programs).unwrap();
    for name in ["sh", "id", "mkdir", "rm", "mv", "cp", "cat", "chmod", "ln"] {
        let mut found = ["/bin", "/usr/bin"].iter().map(|dir| format!("{dir}/{name}"));
        let found = found.find(|path| fs::exists(path).unwrap()).unwrap();
        symlink(found, programs.join(name)).unwrap();
    }
    world.backend.change(|place| {
        place.environment.insert("PATH".into(), programs.clone().into());
    });
    let listed = world.call("directory_list", json!({"path": "."})).await;
    assert!(listed["error"].is_null(), "{listed}");
    world.tool_host.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_machine_is_an_error_that_says_what_to_do() {
    let world = World::new();
    world.backend.change(|place| {
        place.system = "Linux riscv64".to_owned();
        place.environment.insert("PATH".into(), "/bin:/usr/bin".into());
    });
    let listed = world.call("directory_list", json!({"path": "."})).await;
    assert_eq!(listed["kind"], "unavailable", "{listed}");
    assert!(listed["error"].as_str().unwrap().contains("riscv64"), "{listed}");
    assert!(
        listed["hint"].as_str().unwrap().contains("Install the same version of hermes"),
        "{listed}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_without_room_is_an_error_with_the_reason() {
    let world = World::new();
    fs::write(world.root().join("home/.cache"), "in the way").unwrap();
    world.backend.change(|place| {
        // Not even root can create a directory below a file.
        place.environment.insert("TMPDIR".into(), "/dev/null/tmp".into());
    });
    let listed = world.call("directory_list", json!({"path": "."})).await;
    assert_eq!(listed["kind"], "unavailable", "{listed}");
    assert!(listed["error"].as_str().unwrap().contains("can be written"), "{listed}");
}
