use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn parent_dir(shared: &Path) -> PathBuf {
    shared.join(format!("hermes-cache-{}", rustix::process::geteuid().as_raw()))
}

#[test]
fn a_cache_directory_is_only_accessible_to_its_user() {
    let shared = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let found = cache_dir(shared.path(), Path::new("/work")).unwrap();
        assert_eq!(found.parent(), Some(parent_dir(shared.path()).as_path()));
    }
    let mode = fs::metadata(parent_dir(shared.path())).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_cache_directory_that_others_can_write_to_is_refused() {
    let shared = tempfile::tempdir().unwrap();
    fs::create_dir(parent_dir(shared.path())).unwrap();
    fs::set_permissions(parent_dir(shared.path()), Permissions::from_mode(0o777)).unwrap();
    assert!(cache_dir(shared.path(), Path::new("/work")).is_err());
}

#[test]
fn a_symlink_in_place_of_the_cache_directory_is_refused() {
    let [shared, planted] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    symlink(planted.path(), parent_dir(shared.path())).unwrap();
    assert!(cache_dir(shared.path(), Path::new("/work")).is_err());
}
