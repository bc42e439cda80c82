//! Directories that children change without changing the user's own.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use hermes_core::{OverlayMount, PartialDir};
use hermes_sandbox::overlay_directory;

use crate::support::{World, has_namespaces};

/// A home with a cache in it, of which children see an overlay.
fn world(name: &str) -> (World, PathBuf, PathBuf) {
    let mut world = World::new();
    let home = world.outside.parent().unwrap().join("home");
    let (cache, store) = (home.join(name), world.outside.join("store, a:b"));
    fs::create_dir_all(home.join("project")).unwrap();
    fs::create_dir_all(&store).unwrap();
    world.confinement.read.push(home.clone());
    world.confinement.partial_dirs =
        vec![PartialDir { dir: home.clone(), open: vec![home.join("project"), cache.clone()] }];
    let overlay = OverlayMount {
        target: cache.clone(),
        home,
        workspace: world.inside.clone(),
        store,
        hidden: vec![PathBuf::from("credentials"), PathBuf::from("deep/token")],
    };
    let store = overlay_directory(&overlay).unwrap();
    world.confinement.overlays = vec![overlay];
    (world, cache, store)
}

#[test]
fn a_child_changes_its_own_layer_and_the_next_one_sees_it() {
    if !has_namespaces() {
        return;
    }
    let (world, cache, store) = world(".cache");
    fs::create_dir_all(cache.join("deep")).unwrap();
    fs::write(cache.join("old"), "users\n").unwrap();
    fs::write(cache.join("credentials"), "secret\n").unwrap();
    fs::write(cache.join("deep/token"), "secret\n").unwrap();
    let sandbox = world.sandbox();
    assert!(
        sandbox.enforcement().gaps.iter().all(|gap| !gap.contains("overlay")),
        "{}",
        sandbox.enforcement()
    );
    let script = format!(
        "cd {cache}; cat old; echo mine > old; echo new > new; ls -A . deep; cat credentials",
        cache = cache.display()
    );
    let ran = crate::support::run(&sandbox, &world.inside, &script);
    assert_eq!(ran.out, "users\n.:\ndeep\nnew\nold\n\ndeep:", "{ran:?}");
    assert_eq!(fs::read_to_string(cache.join("old")).unwrap(), "users\n");
    assert!(!cache.join("new").exists());
    drop(sandbox);

    // Replaced by its user, a secret stays invisible.
    fs::write(cache.join("fresh"), "secret2\n").unwrap();
    fs::rename(cache.join("fresh"), cache.join("credentials")).unwrap();
    let script = format!("cd {}; cat old new; cat credentials", cache.display());
    let ran = world.sh(&script);
    assert_eq!(ran.out, "mine\nnew", "{ran:?}");
    assert!(!ran.ok);
    let owner = fs::metadata(store.join("upper/new")).unwrap().uid();
    assert_eq!(owner, fs::metadata(&world.inside).unwrap().uid());
}

#[test]
fn a_cache_that_is_not_there_yet_can_be_filled() {
    if !has_namespaces() {
        return;
    }
    let (world, cache, _store) = world(".npm");
    let at = cache.display();
    let ran = world.sh(&format!("mkdir -p {at}/a/b && echo x > {at}/a/b/c && mv {at}/a {at}/z"));
    assert!(ran.ok, "{ran:?}");
    assert!(!cache.exists());
    assert_eq!(world.sh(&format!("cat {at}/z/b/c; ls -A {at}/..")).out, "x\n.npm\nproject");
}

#[test]
fn no_way_leads_from_an_overlay_to_what_lies_below() {
    if !has_namespaces() {
        return;
    }
    let (world, cache, store) = world(".cache");
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("credentials"), "secret\n").unwrap();
    let (at, upper) = (cache.display(), store.join("upper"));
    for script in [
        format!("rm -f {at}/credentials; cat {at}/credentials"),
        format!("ln -s {at}/credentials l; cat l"),
        format!("cat {}/../../home/.cache/credentials", store.display()),
        format!("echo x > {}/planted", upper.display()),
        format!("chmod 777 {}", upper.display()),
        "cat /proc/self/cwd/../home/.cache/credentials".to_owned(),
    ] {
        let ran = world.sh(&script);
        assert!(!ran.ok && !ran.out.contains("secret"), "{script}: {ran:?}");
    }
    assert!(!upper.join("planted").exists());
}
