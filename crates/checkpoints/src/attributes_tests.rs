use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_folder_whose_access_list_cannot_be_set_is_not_opened_to_its_group() {
    let held = tempfile::tempdir().unwrap();
    let path = held.path().canonicalize().unwrap().join("dir");
    fs::create_dir(&path).unwrap();
    let spot = PathHandle::resolve(&path).unwrap().unwrap();
    // No system takes it for a list.
    let attributes = BTreeMap::from([(ACL_XATTR.to_owned(), "00".to_owned())]);
    let kept = SavedAttributes {
        mode: 0o771,
        owner: None,
        attributes: &attributes,
        overrides: AttributeMask::ALL,
    };
    assert_eq!(spot.apply_dir_attributes(kept).unwrap(), [ACL_XATTR]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o711);
}
