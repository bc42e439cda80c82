use proptest::prelude::*;

use super::*;

#[test]
fn what_is_no_address_is_none() {
    for bad in ["a%", "a%2", "a%zz", "%ff"] {
        assert_eq!(percent_decode(bad), None, "{bad}");
    }
    assert_eq!(percent_decode("a%2Fb%c3%BC").as_deref(), Some("a/bü"));
}

proptest! {
    #[test]
    fn what_was_written_is_read_again(text in "\\PC{0,30}") {
        let written = percent_encode(&text);
        prop_assert!(written.is_ascii() && !written.contains(' '));
        prop_assert_eq!(percent_decode(&written), Some(text));
    }
}
