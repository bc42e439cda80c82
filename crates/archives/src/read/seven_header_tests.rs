use std::io::Cursor;

use super::*;

/// A list that is compressed by LZMA and claims this size and dictionary.
fn archive(size: u64, dictionary: u32) -> Vec<u8> {
    let mut list = vec![
        ID_ENCODED_HEADER,
        ID_PACK_INFO,
        0,
        1,
        ID_SIZE,
        5,
        ID_END,
        ID_UNPACK_INFO,
        ID_FOLDER,
        1,
        0,
    ];
    list.extend([1, 0x23, 3, 1, 1, 5, 0x5D]);
    list.extend(dictionary.to_le_bytes());
    list.extend([ID_UNPACK_SIZE, 0xFF]);
    list.extend(size.to_le_bytes());
    list.extend([ID_END, ID_END]);
    let mut bytes = b"7z\xBC\xAF\x27\x1C\0\x04\0\0\0\0".to_vec();
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend((list.len() as u64).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(list);
    bytes
}

fn is_fine(bytes: &[u8]) -> bool {
    is_header_within_limits(&mut Cursor::new(bytes)).expect("memory")
}

#[test]
fn lists_that_claim_too_much_are_refused() {
    assert!(is_fine(&archive(1000, 1 << 20)));
    assert!(!is_fine(&archive(MAX_HEADER_BYTES + 1, 1 << 20)));
    assert!(!is_fine(&archive(u64::MAX, 1 << 20)));
    assert!(!is_fine(&archive(1000, u32::MAX)));
    let mut long = archive(1, 1);
    long[20..28].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(!is_fine(&long));
}

#[test]
fn what_is_cut_off_is_left_to_the_library() {
    let whole = archive(u64::MAX, 1);
    for end in 0..whole.len() - 10 {
        assert!(is_fine(&whole[..end]), "{end}");
    }
}

#[test]
fn dictionaries_are_read_from_the_properties() {
    assert_eq!(decoder_memory(LZMA_METHOD, &[0x5D, 0, 0, 0x10, 0]), 1 << 20);
    assert_eq!(decoder_memory(LZMA2_METHOD, &[18]), 2 << 20);
    assert_eq!(decoder_memory(LZMA2_METHOD, &[40]), u64::from(u32::MAX));
    assert_eq!(decoder_memory(&[0], &[]), 0);
}

#[test]
fn numbers_have_one_to_nine_bytes() {
    for (bytes, value) in [
        (&[0x05][..], 5),
        (&[0x81, 0x02], 0x0102),
        (&[0xC0, 0x01, 0x02], 0x0201),
        (&[0xFF, 1, 0, 0, 0, 0, 0, 0, 0x80], 0x8000_0000_0000_0001),
    ] {
        let mut rest = bytes;
        assert_eq!(read_integer(&mut rest), Some(value));
        assert!(rest.is_empty());
    }
    assert_eq!(read_integer(&mut &[0xFF, 1][..]), None);
}
