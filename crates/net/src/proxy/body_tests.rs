use proptest::prelude::*;
use tokio::io::{AsyncReadExt, BufReader};

use super::{BodyError, BodyFraming, copy_body};

/// Copies with a buffer of this size; returns what was copied and what is left.
async fn copied(
    input: &[u8],
    framing: BodyFraming,
    buffer: usize,
) -> Result<(Vec<u8>, Vec<u8>), BodyError> {
    let mut reader = BufReader::with_capacity(buffer, input);
    let mut output = Vec::new();
    copy_body(&mut reader, &mut output, framing).await?;
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).await.unwrap();
    Ok((output, rest))
}

#[tokio::test]
async fn nothing_after_the_body_is_copied() {
    let (body, rest) = copied(b"12345GET /", BodyFraming::Length(5), 2).await.unwrap();
    assert_eq!((body.as_slice(), rest.as_slice()), (&b"12345"[..], &b"GET /"[..]));
    let chunked = b"3\r\nabc\r\n0\r\n\r\nGET /";
    let (body, rest) = copied(chunked, BodyFraming::Chunked, 100).await.unwrap();
    assert_eq!(body, b"3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(rest, b"GET /");
    let (body, _) = copied(b"all of it", BodyFraming::UntilClose, 4).await.unwrap();
    assert_eq!(body, b"all of it");
}

#[tokio::test]
async fn chunks_are_written_anew() {
    let chunked = b"0003;name=\"x\" \r\nabc\r\nA\r\n0123456789\r\n0;last\r\nTrailer: x\r\n\r\n";
    let (body, rest) = copied(chunked, BodyFraming::Chunked, 7).await.unwrap();
    assert_eq!(body, b"3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
    assert!(rest.is_empty());
}

#[tokio::test]
async fn malformed_chunks_are_errors() {
    for bad in [
        "x\r\n",
        "\r\n",
        "-1\r\n",
        "+1\r\na\r\n",
        "0x1\r\na\r\n",
        " 1\r\na\r\n",
        "1 1\r\na\r\n",
        "1\na\n0\n\n",
        "1\r\nab\r\n",
        "1\r\na\n",
        "10000000000000000\r\n",
    ] {
        let error = copied(bad.as_bytes(), BodyFraming::Chunked, 100).await.unwrap_err();
        assert!(matches!(error, BodyError::Malformed(_)), "{bad:?}: {error}");
    }
    let long = format!("1;{}", "x".repeat(100_000));
    let error = copied(long.as_bytes(), BodyFraming::Chunked, 100).await.unwrap_err();
    assert!(matches!(error, BodyError::Malformed(_)), "{error}");
    let trailers = format!("0\r\n{}\r\n", "A: b\r\n".repeat(1000));
    let error = copied(trailers.as_bytes(), BodyFraming::Chunked, 100).await.unwrap_err();
    assert!(matches!(error, BodyError::Malformed(_)), "{error}");
}

#[tokio::test]
async fn a_body_that_is_cut_is_an_error() {
    for (input, framing) in [
        ("1234", BodyFraming::Length(5)),
        ("", BodyFraming::Length(1)),
        ("5\r\n123", BodyFraming::Chunked),
        ("5\r\n12345\r\n", BodyFraming::Chunked),
        ("0\r\n", BodyFraming::Chunked),
        ("", BodyFraming::Chunked),
    ] {
        let error = copied(input.as_bytes(), framing, 100).await.unwrap_err();
        assert!(matches!(error, BodyError::Read(_)), "{input:?}: {error}");
    }
}

proptest! {
    #[test]
    fn chunks_arrive_whole_however_they_are_read(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8),
        buffer in 1_usize..50,
    ) {
        let mut encoded = Vec::new();
        for chunk in &chunks {
            encoded.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            encoded.extend_from_slice(chunk);
            encoded.extend_from_slice(b"\r\n");
        }
        encoded.extend_from_slice(b"0\r\n\r\n");
        let input = [encoded.as_slice(), b"rest"].concat();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let copied = runtime.block_on(copied(&input, BodyFraming::Chunked, buffer)).unwrap();
        prop_assert_eq!(copied, (encoded, b"rest".to_vec()));
    }
}
