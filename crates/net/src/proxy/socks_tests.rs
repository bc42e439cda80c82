use hermes_core::NetworkDestination;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{SocksError, SocksReply, read_request};
use crate::names::NameTable;

/// The destination parsed from this input, and the responses sent.
async fn read(input: &[u8]) -> (Result<NetworkDestination, SocksError>, Vec<u8>) {
    let (mut near, mut far) = tokio::io::duplex(1024);
    far.write_all(input).await.unwrap();
    far.shutdown().await.unwrap();
    let result = read_request(&mut near, &NameTable::new()).await;
    drop(near);
    let mut answered = Vec::new();
    far.read_to_end(&mut answered).await.unwrap();
    (result, answered)
}

#[tokio::test]
async fn every_kind_of_address_is_read() {
    let mut v6 = vec![5, 1, 0, 5, 1, 0, 4];
    v6.extend([0x26, 6, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x11, 1, 0xbb]);
    for (input, host) in [
        (&b"\x05\x02\x02\x00\x05\x01\x00\x01\x08\x08\x04\x04\x01\xbb"[..], "8.8.4.4"),
        (b"\x05\x01\x00\x05\x01\x00\x03\x0bExample.com\x01\xbb", "example.com"),
        (b"\x05\x01\x00\x05\x01\x00\x03\x0a2130706433\x01\xbb", "127.0.0.1"),
        (&v6, "2606:4700::1111"),
    ] {
        let (read, answered) = read(input).await;
        assert_eq!(read.unwrap(), NetworkDestination::new(host, 443));
        assert_eq!(answered, [5, 0]);
    }
}

#[tokio::test]
async fn what_is_not_served_is_answered() {
    for (input, answer) in [
        (&b"\x05\x01\x02"[..], vec![5, 0xff]),
        (b"\x05\x00", vec![5, 0xff]),
        (b"\x05\x01\x00\x05\x02\x00\x01", SocksReply::CommandNotSupported.to_bytes().to_vec()),
        (b"\x05\x01\x00\x05\x03\x00\x01", SocksReply::CommandNotSupported.to_bytes().to_vec()),
        (b"\x05\x01\x00\x05\x01\x00\x09", SocksReply::AddressTypeNotSupported.to_bytes().to_vec()),
        (b"\x05\x01\x00\x04\x01\x00\x01", SocksReply::GeneralFailure.to_bytes().to_vec()),
        (
            b"\x05\x01\x00\x05\x01\x00\x03\x03a b\x00\x50",
            SocksReply::GeneralFailure.to_bytes().to_vec(),
        ),
        (
            b"\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50",
            SocksReply::GeneralFailure.to_bytes().to_vec(),
        ),
        (
            b"\x05\x01\x00\x05\x01\x00\x01\x08\x08\x08\x08\x00\x00",
            SocksReply::GeneralFailure.to_bytes().to_vec(),
        ),
    ] {
        let (read, _) = read(input).await;
        assert_eq!(read.unwrap_err().answer, answer, "{input:?}");
    }
}

#[tokio::test]
async fn a_request_that_is_cut_is_an_error_without_an_answer() {
    let whole = b"\x05\x01\x00\x05\x01\x00\x03\x0bexample.com\x01\xbb";
    for length in 0..whole.len() {
        let (read, _) = read(&whole[..length]).await;
        assert!(read.unwrap_err().answer.is_empty(), "{length}");
    }
}
