use std::fs;
use std::time::Duration;

use super::super::changes::WatchEvent;
use super::*;

fn request(root: &std::path::Path) -> Arc<WatchRequest> {
    let none = globset::GlobSet::empty;
    Arc::new(WatchRequest {
        roots: vec![root.to_path_buf()],
        recursive: true,
        gitignore: false,
        names: none(),
        paths: none(),
        events: Vec::new(),
        max_events: 10,
    })
}

#[tokio::test]
async fn without_the_systems_word_one_looks_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let cx = ToolContext::bare(dir.path());
    let mut lookout = TreeWatcher::start(request(dir.path()), &cx).expect("a look");
    assert_eq!(lookout.backend_name(), "inotify");
    lookout.sensor.give_up();
    assert_eq!(lookout.backend_name(), "polling");
    fs::write(dir.path().join("a"), "x").expect("written");
    assert!(lookout.wait(Instant::now() + Duration::from_secs(60)).await);
    let found = lookout.poll(&cx).expect("a look");
    let shown: Vec<_> = found.iter().map(|change| change.event).collect();
    assert_eq!(shown, [WatchEvent::Create]);
}

#[tokio::test]
async fn a_queue_that_ran_over_is_a_reason_to_look() {
    let dir = tempfile::tempdir().expect("a folder");
    let cx = ToolContext::bare(dir.path());
    let mut lookout = TreeWatcher::start(request(dir.path()), &cx).expect("a look");
    // Nothing is said of the single files, only that something was lost.
    lookout.sensor.give_up();
    for number in 0..50 {
        fs::write(dir.path().join(number.to_string()), "").expect("written");
    }
    lookout.sensor.overflow();
    assert!(lookout.sensor.wait_for_event(Instant::now() + Duration::from_secs(60)).await);
    assert_eq!(lookout.poll(&cx).expect("a look").len(), 50);
}
