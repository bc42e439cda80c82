use super::*;

#[test]
fn every_session_has_a_folder_of_its_own() {
    let mut scratch = Scratch::default();
    let first = scratch.folder("a").unwrap();
    let second = scratch.folder("../b").unwrap();
    assert_ne!(first, second);
    assert_eq!(scratch.folder("a").unwrap(), first);
    assert_eq!(first.parent(), second.parent());
    if let Ok(den) = den() {
        assert!(first.starts_with(den), "{}", first.display());
    }
    drop(scratch);
    assert!(!first.exists() && !second.exists());
}
