use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn folders_of_everybody_are_told_from_projects() {
    let project = tempfile::tempdir().expect("a folder");
    let real = project.path().canonicalize().expect("real");
    assert!(!is_shared_dir(&real, None));
    assert!(is_shared_dir(&real, Some(&real)));
    let below = real.join("home");
    fs::create_dir(&below).expect("a folder");
    assert!(is_shared_dir(&real, Some(&below)));
    assert!(!is_shared_dir(&below, Some(&real)));
    let temporary = env::temp_dir().canonicalize().expect("real");
    for dir in ["/", "/var", "/dev"].into_iter().map(Path::new).chain([&*temporary]) {
        assert!(is_shared_dir(dir, None), "{}", dir.display());
    }
    fs::set_permissions(&real, fs::Permissions::from_mode(0o1777)).expect("permissions");
    assert!(is_shared_dir(&real, None));
}
