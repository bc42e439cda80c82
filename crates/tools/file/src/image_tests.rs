use proptest::prelude::*;

use super::*;

#[test]
fn each_format_says_how_large_it_is() {
    let png = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xE0";
    let gif = b"GIF89a\x40\x01\xF0\x00\x80";
    let mut bmp = b"BM".to_vec();
    bmp.extend([0; 12]);
    bmp.extend(40_u32.to_le_bytes());
    bmp.extend(33_i32.to_le_bytes());
    bmp.extend((-44_i32).to_le_bytes());
    let jpeg = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xFF\xC4\0\x03x\xFF\xC2\0\x11\x08\x01\xE0\x02\x80\x03";
    let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9D\x01\x2A\x0A\x40\x14\x00";
    let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2F\x09\xC0\x04\x00";
    let extended = b"RIFF\0\0\0\0WEBPVP8X\x0A\0\0\0\0\0\0\0\xFF\x03\0\xFF\x01\0";
    for (head, size) in [
        (&png[..], (640, 480)),
        (gif, (320, 240)),
        (&bmp, (33, 44)),
        (jpeg, (640, 480)),
        (lossy, (10, 20)),
        (lossless, (10, 20)),
        (extended, (1024, 512)),
    ] {
        assert_eq!(dimensions(head), Some(size), "{head:?}");
    }
}

proptest! {
    #[test]
    fn anything_else_has_no_size_and_does_no_harm(
        start in prop::sample::select(vec![
            &b"\xFF\xD8"[..], b"BM", b"GIF8", b"\x89PNG\r\n\x1A\n", b"RIFF\0\0\0\0WEBPVP8X", b"",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        let _ = dimensions(&[start, &rest[..]].concat());
    }
}
