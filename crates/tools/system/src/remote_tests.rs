use hermes_core::{ErrorKind, Ports};
use hermes_testkit::backends::PathMappedBackend;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn files_of_another_place_are_read_and_written_there() {
    let (there, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let jobs =
        JobRegistry::new(Arc::new(PathMappedBackend::new(there.path())), own.path().join("jobs"));
    let mut cx = ToolContext::bare(own.path());
    cx.ports = Arc::new(Ports::new().with(Arc::new(jobs)));
    let jobs = remote_jobs(&cx).unwrap();
    write(&jobs, Path::new("/behind/a.png"), b"picture".to_vec(), &cx).await.unwrap();
    assert_eq!(std::fs::read(there.path().join("a.png")).unwrap(), b"picture");
    assert_eq!(read(&jobs, Path::new("/behind/a.png"), 3, &cx).await.unwrap(), b"pic");
    let here = own.path().join("here");
    std::fs::write(&here, "here").unwrap();
    let error = read(&jobs, &here, 9, &cx).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[test]
fn nothing_is_afar_on_this_machine() {
    let own = tempfile::tempdir().unwrap();
    let mut cx = ToolContext::bare(own.path());
    cx.ports = Arc::new(Ports::new().with(Arc::new(JobRegistry::local(own.path().into()))));
    assert!(remote_jobs(&cx).is_none());
}
