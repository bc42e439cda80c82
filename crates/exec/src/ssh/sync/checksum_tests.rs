use std::io::Write as _;
use std::process::{Command, Stdio};

use super::FileChecksum;

fn cksum(bytes: &[u8]) -> String {
    let mut child =
        Command::new("cksum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
}

#[test]
fn it_is_what_cksum_says() {
    let long: Vec<u8> = (0..200_000_u32).map(|at| ((at * 7) >> 3) as u8).collect();
    for bytes in [b"".as_slice(), b"a", b"hello\n", &[0; 300], &long] {
        let sum = FileChecksum::from_bytes(bytes);
        assert_eq!(format!("{} {}", sum.crc, sum.length), cksum(bytes));
        assert_eq!(FileChecksum::from_reader(bytes).unwrap(), (sum, bytes.len() as u64));
    }
}
