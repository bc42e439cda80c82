#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

#[test]
fn a_png_has_a_size_and_nothing_else_has() {
    let mut bytes = PNG_SIGNATURE.to_vec();
    bytes.extend(*b"\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0rest");
    assert_eq!(size(&bytes), Some((640, 480)));
    for end in 0..24 {
        assert_eq!(size(&bytes[..end]), None, "{end}");
    }
    assert_eq!(size(b"\xff\xd8\xff\xe0 JFIF and more than enough bytes"), None);
}

#[test]
fn what_is_no_image_of_applescript_is_refused() {
    for text in ["", "«data PNGf89»x", "«data PNGf8»", "«data PNGfgg»", "«data TIFF89»"] {
        assert_eq!(from_applescript(text.as_bytes()), None, "{text}");
    }
    assert_eq!(from_applescript("«data PNGf89aF»\n".as_bytes()), Some(vec![0x89, 0xaf]));
}

proptest! {
    #[test]
    fn applescript_gives_back_what_it_was_given(bytes: Vec<u8>) {
        prop_assert_eq!(from_applescript(to_applescript(&bytes).as_bytes()), Some(bytes));
    }
}
