use super::*;

#[test]
fn every_session_has_a_folder_of_its_own() {
    let mut scratch = ScratchDirs::default();
    let first = scratch.session_dir("a").unwrap();
    let second = scratch.session_dir("../b").unwrap();
    assert_ne!(first, second);
    assert_eq!(scratch.session_dir("a").unwrap(), first);
    assert_eq!(first.parent(), second.parent());
    if let Ok(den) = private_dir() {
        assert!(first.starts_with(den), "{}", first.display());
    }
    drop(scratch);
    assert!(!first.exists() && !second.exists());
}

#[test]
fn a_place_that_is_full_or_missing_is_passed_over() {
    let mut scratch = ScratchDirs::default();
    let good = tempfile::tempdir().unwrap();
    // There is never any room in the list of processes.
    let places = ["/nonesuch", "/proc"].map(PathBuf::from);
    assert!(scratch.choose_dir(places.clone().into_iter()).is_err());
    scratch.choose_dir(places.clone().into_iter().chain([good.path().to_owned()])).unwrap();
    let dir = scratch.session_dir("a").unwrap();
    assert!(dir.starts_with(good.path()), "{}", dir.display());
    scratch.choose_dir(places.into_iter()).unwrap();
    assert_eq!(scratch.session_dir("a").unwrap(), dir, "nothing is better");
}
