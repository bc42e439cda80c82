#![allow(clippy::unwrap_used)]

use super::*;

async fn read_all(bytes: Vec<u8>, tagged: bool) -> Vec<(u32, Vec<u8>)> {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let writer = tokio::spawn(async move { write_all(&theirs, &bytes).await });
    let large = Arc::new(Semaphore::new(1));
    let mut frames = if tagged {
        FrameReader::tagged(&ours, large)
    } else {
        FrameReader::untagged(&ours, large)
    };
    let mut all = Vec::new();
    while let Ok(Some(frame)) = frames.next().await {
        all.push((frame.tag, frame.bytes));
    }
    let _ = writer.await;
    all
}

#[tokio::test]
async fn messages_come_whole_and_in_order() {
    let long = "x".repeat(3 << 20);
    let mut bytes = encode_frame(None, "one");
    bytes.extend(encode_frame(None, ""));
    bytes.extend(encode_frame(None, &long));
    bytes.extend(encode_frame(None, "four")[..6].iter());
    let all = read_all(bytes, false).await;
    let lengths: Vec<usize> = all.iter().map(|(_, bytes)| bytes.len()).collect();
    assert_eq!(lengths, [3, 0, 3 << 20], "half a message is none");
}

#[tokio::test]
async fn a_tag_tells_who_speaks() {
    let mut bytes = encode_frame(Some(7), "a");
    bytes.extend(encode_frame(Some(u32::MAX), "b"));
    let all = read_all(bytes, true).await;
    assert_eq!(all, [(7, b"a".to_vec()), (u32::MAX, b"b".to_vec())]);
}

#[tokio::test]
async fn a_length_that_is_too_large_ends_it() {
    let mut bytes = encode_frame(None, "one");
    bytes.extend(u32::MAX.to_be_bytes());
    bytes.extend(encode_frame(None, "two"));
    assert_eq!(read_all(bytes, false).await.len(), 1);
}
