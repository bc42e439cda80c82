use super::*;

#[test]
fn a_link_of_a_child_in_the_upper_layer_leads_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let (upper, outside) = (dir.path().join("upper"), dir.path().join("outside"));
    for directory in [&upper, &outside] {
        fs::create_dir(directory).unwrap();
    }
    std::os::unix::fs::symlink(&outside, upper.join("sub")).unwrap();
    hide(&upper, Path::new("sub/deep/token")).unwrap();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    hide(&upper, Path::new("plain/token")).unwrap();
    let about = fs::symlink_metadata(upper.join("plain/token")).unwrap();
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&about.file_type()));
    fs::write(upper.join("own"), "x").unwrap();
    hide(&upper, Path::new("own")).unwrap();
    assert_eq!(fs::read_to_string(upper.join("own")).unwrap(), "x");
}
