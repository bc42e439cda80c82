use std::ffi::OsStr;

use proptest::prelude::*;

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Holder(#[serde(with = "crate::names")] PathBuf);

proptest! {
    #[test]
    fn any_name_comes_back_as_it_was(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let holder = Holder(PathBuf::from(OsStr::from_bytes(&bytes)));
        let text = serde_json::to_string(&holder).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Holder>(&text).expect("a path"), holder);
        prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes));
    }
}

#[test]
fn text_stays_readable_and_damage_is_an_error() {
    let holder = Holder("/a b/ü".into());
    assert_eq!(serde_json::to_string(&holder).expect("JSON"), "\"/a b/ü\"");
    assert!(serde_json::from_str::<Holder>(r#"{"bytes":"zz"}"#).is_err());
    assert!(serde_json::from_str::<Holder>(r#"{"bytes":"abc"}"#).is_err());
}
