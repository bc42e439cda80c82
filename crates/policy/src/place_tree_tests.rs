#![allow(clippy::unwrap_used)]
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn names_and_the_links_on_the_way_are_found() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path();
    for directory in ["dotfiles/config/gh", ".ssh", ".config-of-others"] {
        fs::create_dir_all(home.join(directory)).unwrap();
    }
    fs::write(home.join("dotfiles/config/gh/hosts.yml"), "x").unwrap();
    fs::write(home.join(".netrc"), "x").unwrap();
    symlink("dotfiles/config", home.join(".config")).unwrap();
    symlink("../dotfiles/ssh", home.join(".ssh/config")).unwrap();
    symlink("nowhere", home.join(".pgpass")).unwrap();
    let places: Vec<PathBuf> = [".ssh", ".netrc", ".pgpass", ".config/gh", ".aws/credentials"]
        .iter()
        .map(|name| home.join(name))
        .collect();
    let mut found = PlaceTree::new(home, &places).survey(home);
    found.present.sort();
    found.links.sort();
    let expected = |names: &[&str]| names.iter().map(|name| home.join(name)).collect::<Vec<_>>();
    assert_eq!(found.present, expected(&[".config/gh", ".netrc", ".ssh"]));
    assert_eq!(found.links, expected(&[".config", ".pgpass", ".ssh/config"]));
    assert!(found.directories.contains(&home.to_path_buf()));
}
