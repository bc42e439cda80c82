use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::*;
use crate::backend::ShellKind;
use crate::command_spec::{StdinSource, StdioMode};
use crate::remote::{RemoteBackend, Transport, TransportIo, TransportProcess};

/// A backend that opens on request, or never.
#[derive(Debug, Default)]
struct Slow {
    begun: AtomicUsize,
    open: Notify,
    fails: bool,
}

impl ExecBackend for Arc<Slow> {
    fn name(&self) -> &str {
        "slow"
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        Box::pin(async {
            self.begun.fetch_add(1, Ordering::SeqCst);
            self.open.notified().await;
            if self.fails {
                return Err(ToolError::unavailable("it is away"));
            }
            Ok(Arc::new(HostFacts {
                directory: "/there".into(),
                environment: BTreeMap::new(),
                shell: ShellKind::Posix,
                system: String::new(),
            }))
        })
    }

    fn start<'a>(
        &'a self,
        _: &'a str,
        _: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        Box::pin(async { Err(ToolError::unavailable("nothing runs there")) })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

fn place(fails: bool) -> (Arc<Slow>, LazyBackend) {
    let slow = Arc::new(Slow { fails, ..Slow::default() });
    (Arc::clone(&slow), LazyBackend::new(Arc::new(slow)))
}

/// Starts to wait for the backend, then is dropped.
async fn glance(place: &LazyBackend) {
    tokio::select! {
        biased;
        _ = place.open() => unreachable!(),
        () = tokio::task::yield_now() => {}
    }
}

#[tokio::test]
async fn an_opening_goes_on_when_nobody_waits_for_it() {
    let (slow, place) = place(false);
    glance(&place).await;
    glance(&place).await;
    slow.open.notify_one();
    assert_eq!(place.open().await.unwrap().directory, std::path::Path::new("/there"));
    assert_eq!(slow.begun.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_failed_a_moment_ago_is_not_tried_for_the_same_call() {
    let (slow, place) = place(true);
    slow.open.notify_one();
    assert!(place.open().await.unwrap_err().message().contains("away"));
    assert!(place.open().await.unwrap_err().message().contains("away"));
    assert_eq!(slow.begun.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_that_did_not_know_the_place_is_to_be_made_again() {
    let (slow, place) = place(false);
    let (sender, mut shown) = oneshot::channel();
    place.on_ready(move |place| drop(sender.send(place.directory.clone())));
    assert!(place.has_ready_callback());
    slow.open.notify_one();
    let error = place.open().await.unwrap_err();
    assert!(error.hint().contains("Repeat the call"), "{error}");
    assert_eq!(shown.try_recv().unwrap(), std::path::Path::new("/there"));
    slow.open.notify_one();
    place.open().await.unwrap();
}

/// A transport that never responds.
#[derive(Debug)]
struct Deaf(u32);

impl Transport for Deaf {
    fn name(&self) -> &str {
        "deaf"
    }

    fn open(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }

    fn transport_process(&self, _: &str, _: TransportIo) -> TransportProcess {
        let arguments = vec!["-c".into(), format!("sleep {}; :", self.0).into()];
        let environment = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
        TransportProcess { program: "sh".into(), arguments, environment }
    }

    fn containment_summary(&self) -> Option<String> {
        None
    }

    fn explain_failure(&self, _: crate::ProcessExit, _: &str) -> Option<ToolError> {
        None
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// Processes whose command line contains this word.
#[cfg(target_os = "linux")]
fn with(word: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let line = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline"));
    let lines = all.filter_map(|entry| line(entry).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn carriers_of_a_place_that_does_not_answer_end_with_it() {
    let number = 100_000 + std::process::id();
    let word = format!("sleep {number}");
    let place = LazyBackend::new(Arc::new(RemoteBackend::new(Deaf(number))));
    let spec = || CommandSpec {
        program: "true".into(),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
        directory: "/".into(),
        input: StdinSource::Empty,
        output: StdioMode::Merged,
        confinement: None,
    };
    while with(&word) == 0 {
        glance(&place).await;
        drop(place.start("deaf", spec()));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    place.cleanup().await;
    while with(&word) > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
