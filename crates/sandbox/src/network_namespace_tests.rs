use super::*;

#[test]
fn reads_rows_of_the_socket_table() {
    let line = "   0: 0100007F:EE98 00000000:0000 0A 00000000:00000000 00:00000000 00000000     \
                0        0 19430 1 0000000092a7ae2f 100 0 0 10 0";
    let row = TcpTableRow::parse(line).unwrap();
    assert_eq!(row.local, "127.0.0.1:61080".parse().unwrap());
    assert!(row.is_listening);
    assert_eq!(row.inode, 19430);
}

#[test]
fn reads_addresses_of_both_families() {
    let mapped = "0000000000000000FFFF00000100007F:0BB8";
    assert_eq!(parse_address(mapped), Some("127.0.0.1:3000".parse().unwrap()));
    let loopback = "00000000000000000000000001000000:0050";
    assert_eq!(parse_address(loopback), Some("[::1]:80".parse().unwrap()));
    for broken in ["", "0100007F", "xyz:1", "0100007F:zz"] {
        assert_eq!(parse_address(broken), None, "{broken}");
    }
}
