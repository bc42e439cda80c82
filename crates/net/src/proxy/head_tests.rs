use proptest::prelude::*;
use tokio::io::AsyncReadExt;

use super::{HeadError, head_end, read_head};

async fn read(input: &[u8], max_bytes: usize) -> Result<(usize, Vec<u8>), HeadError> {
    let mut buffer = Vec::new();
    let mut reader = input;
    read_head(&mut reader, &mut buffer, max_bytes).await.map(|length| (length, buffer))
}

#[tokio::test]
async fn a_head_ends_with_the_empty_line() {
    let (length, buffer) = read(b"GET / HTTP/1.1\r\nA: b\r\n\r\nbody", 1000).await.unwrap();
    assert_eq!(&buffer[..length], b"GET / HTTP/1.1\r\nA: b\r\n\r\n");
    assert_eq!(&buffer[length..], b"body");
}

#[tokio::test]
async fn a_head_is_bounded() {
    let head = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(5000));
    let (length, _) = read(head.as_bytes(), head.len()).await.unwrap();
    assert_eq!(length, head.len());
    let error = read(head.as_bytes(), head.len() - 1).await.unwrap_err();
    assert!(matches!(error, HeadError::TooLarge(_)), "{error}");
    // Not even of an endless head is more than the bound kept.
    let mut buffer = Vec::new();
    let error = read_head(&mut tokio::io::repeat(b'A'), &mut buffer, 9000).await.unwrap_err();
    assert!(matches!(error, HeadError::TooLarge(9000)), "{error}");
    assert_eq!(buffer.len(), 9000);
}

#[tokio::test]
async fn a_head_that_is_cut_is_an_error() {
    for input in ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\n\r"] {
        let error = read(input.as_bytes(), 1000).await.unwrap_err();
        assert!(matches!(error, HeadError::Closed), "{input:?}: {error}");
    }
}

#[tokio::test]
async fn a_head_may_come_byte_by_byte() {
    let (mut near, far) = tokio::io::duplex(1);
    let sending = async move {
        let mut reader: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
        tokio::io::copy(&mut reader, &mut tokio::io::join(tokio::io::empty(), far)).await.unwrap();
    };
    let mut buffer = Vec::new();
    let (length, ()) = tokio::join!(read_head(&mut near, &mut buffer, 100), sending);
    assert_eq!(length.unwrap(), 18);
    let mut rest = Vec::new();
    near.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty());
}

proptest! {
    #[test]
    fn the_end_is_found_wherever_the_search_goes_on(text in "[a\r\n]{0,12}") {
        let bytes = text.as_bytes();
        let whole = head_end(bytes, 0);
        let mut searched = 0;
        let mut found = None;
        for length in 0..=bytes.len() {
            found = found.or(head_end(&bytes[..length], searched));
            searched = length;
        }
        prop_assert_eq!(found, whole);
    }
}
