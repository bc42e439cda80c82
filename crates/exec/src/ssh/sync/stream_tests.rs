use super::*;

#[tokio::test]
async fn a_host_that_sends_nothing_is_not_waited_for_without_end() {
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    let output = vec![(OutputStream::Stdout, async_streams::register_nonblocking(reader).unwrap())];
    let timeout = Duration::from_millis(20);
    let heard = transfer((None, None), (output, &mut |_| Ok(())), timeout).await;
    assert_eq!(heard.unwrap_err().kind(), io::ErrorKind::TimedOut);
}

#[tokio::test]
async fn a_host_that_sends_slowly_is_waited_for() {
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let output = vec![(OutputStream::Stdout, async_streams::register_nonblocking(reader).unwrap())];
    let timeout = Duration::from_secs(600);
    let mut received = Vec::new();
    let mut keep = |bytes: &[u8]| {
        received.extend_from_slice(bytes);
        Ok(())
    };
    let sending = tokio::task::spawn_blocking(move || {
        for _ in 0..3 {
            rustix::io::write(&writer, b"x").unwrap();
        }
    });
    transfer((None, None), (output, &mut keep), timeout).await.unwrap();
    sending.await.unwrap();
    assert_eq!(received, b"xxx");
}
