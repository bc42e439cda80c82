use super::*;

fn forbidden(tree: &Path, names: &[&str]) -> ForbiddenPaths {
    ForbiddenPaths::from_spec(&Confinement {
        write: vec![tree.to_owned()],
        quarantined: names.iter().map(|name| tree.join(name)).collect(),
        ..Confinement::default()
    })
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_is_made_gets_another_name_and_is_not_lost() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let places = forbidden(&root, &[".zshrc", ".config/fish", "absent"]);
    assert!(!places.has_violation_below(&root));
    for text in ["one", "two"] {
        fs::write(root.join(".zshrc"), text).unwrap();
        fs::create_dir_all(root.join(".config/fish")).unwrap();
        fs::write(root.join(".config/fish/config.fish"), text).unwrap();
        assert!(
            places.has_violation_below(&root.join(".config"))
                && places.has_violation_below(&root.join(".zshrc"))
        );
        places.quarantine();
        assert!(!places.has_violation_below(&root));
    }
    let top = names(&root);
    assert_eq!(top.len(), 3, "{top:?}");
    assert!(top.iter().skip(1).all(|name| name.starts_with(".zshrc.refused-")), "{top:?}");
    let kept = root.join(".config").join(&names(&root.join(".config"))[0]).join("config.fish");
    assert!(fs::read_to_string(kept).is_ok());
}

#[test]
fn a_link_on_the_way_is_put_aside_and_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let (tree, other) = (root.join("tree"), root.join("other"));
    fs::create_dir_all(&tree).unwrap();
    fs::create_dir_all(other.join("fish")).unwrap();
    let places = forbidden(&tree, &[".config/fish", ".zshrc"]);
    std::os::unix::fs::symlink(&other, tree.join(".config")).unwrap();
    std::os::unix::fs::symlink("/nowhere", tree.join(".zshrc")).unwrap();
    places.quarantine();
    assert_eq!(names(&other), ["fish"]);
    assert!(names(&tree).iter().all(|name| name.contains(".refused-")), "{:?}", names(&tree));
    // Nor what is in nobody's tree.
    let outside = ForbiddenPaths::from_spec(&Confinement {
        write: vec![tree.clone()],
        quarantined: vec![other.join("fish")],
        ..Confinement::default()
    });
    assert!(outside.is_empty());
}
