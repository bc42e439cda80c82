use std::os::unix::fs::symlink;
use std::path::Path;

use hermes_core::{Effect, Scope};

use super::{EffectTarget, PathCache};

fn effects(root: &Path, names: &[&str]) -> Vec<Effect> {
    let reads = names.iter().map(|name| Effect::path(Scope::FILE_READ, root.join(name)));
    let removes = names.iter().map(|name| Effect::path(Scope::FILE_DELETE, root.join(name)));
    reads.chain(removes).collect()
}

#[test]
fn a_look_sees_what_following_sees() {
    let dir = tempfile::tempdir().unwrap();
    let root = hermes_files::real_path(dir.path()).unwrap();
    std::fs::create_dir_all(root.join("real/deep")).unwrap();
    std::fs::write(root.join("real/file"), "x").unwrap();
    std::fs::hard_link(root.join("real/file"), root.join("real/twin")).unwrap();
    symlink("real", root.join("link")).unwrap();
    symlink("file", root.join("real/to-file")).unwrap();
    symlink("gone", root.join("real/to-nowhere")).unwrap();
    let names = [
        "real/file",
        "real/other",
        "real/twin",
        "real/to-file",
        "real/to-nowhere",
        "real/deep",
        "real/deep/a",
        "real/deep/b",
        "real/deep/../file",
        "link/file",
        "link/twin",
        "link/other",
        "absent/a",
        "absent/b",
        "real/file/below",
        "real/file/beside",
        "real",
        "link",
    ];
    let all = effects(&root, &names);
    let mut path_cache = PathCache::default();
    // Twice, since the second time much is known.
    for effect in all.iter().chain(&all) {
        let shown = |place: &Result<EffectTarget, String>| match place {
            Ok(place) => Ok((place.path.clone(), place.hardlink_id)),
            Err(error) => Err(error.clone()),
        };
        let seen = path_cache.resolve(effect).map(shown);
        assert_eq!(seen, EffectTarget::for_effect(effect).as_ref().map(shown), "{effect}");
    }
}

#[test]
fn what_is_no_path_leads_nowhere() {
    let effect = Effect::name(Scope::FILE_READ, "a");
    assert!(PathCache::default().resolve(&effect).is_none());
}
