use proptest::prelude::*;

use super::PaxRecords;

/// A record as POSIX wants it: the length counts its own digits.
fn record(key: &[u8], value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [format!("{length} ").as_bytes(), key, b"=", value, b"\n"].concat()
}

#[test]
fn records_end_where_their_length_says() {
    let text = [record(b"path", b"a\nb\n30 path=c"), record(b"mtime", b"1.5")].concat();
    let records = PaxRecords::parse(&text).unwrap();
    assert_eq!(records.get(b"path"), Some(&b"a\nb\n30 path=c"[..]));
    assert_eq!(records.get(b"mtime"), Some(&b"1.5"[..]));
    assert_eq!(records.get(b"size"), None);
}

#[test]
fn what_is_no_record_is_damage() {
    for text in [
        &b"path=x\n"[..],
        b"9 path=x",
        b"99 path=x\n",
        b"11 path=x\n",
        b"5 path=x\n",
        b"0 path=x\n",
        b"10  pathx\n",
        b"99999999999999999999999 path=x\n",
        b"\npath",
    ] {
        PaxRecords::parse(text).expect_err(&String::from_utf8_lossy(text));
    }
    assert_eq!(PaxRecords::parse(b"").unwrap(), PaxRecords::default());
    assert_eq!(PaxRecords::parse(b"9 path=x\n\0\0\0").unwrap().get(b"path"), Some(&b"x"[..]));
}

#[test]
fn later_headers_count_for_all_that_follow() {
    let mut all = PaxRecords::parse(&record(b"path", b"a")).unwrap();
    let later = [record(b"path", b"b"), record(b"GNU.sparse.size", b"1")].concat();
    all.update(PaxRecords::parse(&later).unwrap());
    assert_eq!((all.get(b"path"), all.sparse_records().count()), (Some(&b"b"[..]), 0));
}

proptest! {
    #[test]
    fn any_value_is_read_as_it_was_written(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..6)) {
        let text: Vec<u8> = values.iter().flat_map(|value| record(b"path", value)).collect();
        let records = PaxRecords::parse(&text).unwrap();
        prop_assert_eq!(records.get(b"path"), values.last().map(Vec::as_slice));
    }

    #[test]
    fn noise_is_never_a_panic(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = PaxRecords::parse(&noise);
    }
}
