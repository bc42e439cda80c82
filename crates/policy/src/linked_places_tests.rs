#![allow(clippy::unwrap_used)]
use std::cell::Cell;
use std::os::unix::fs::symlink;

use super::*;

/// A link that is made or led elsewhere is seen as soon as its directory has
/// changed, and everything again after a while.
#[test]
fn a_look_counts_until_a_directory_changes() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    let (cache, looks) = (LinkCache::default(), Cell::new(0));
    let link = home.join(".netrc");
    let targets = |now: Instant| {
        cache.targets(now, || {
            looks.set(looks.get() + 1);
            let links = if link.is_symlink() { vec![link.clone()] } else { Vec::new() };
            let targets = LinkTargets::new(&links, |_| true);
            (LinkSurvey { links, directories: vec![home.clone()] }, targets)
        })
    };
    let start = Instant::now();
    assert!(targets(start).pairs.is_empty());
    assert!(targets(start + RECHECK_INTERVAL / 2).pairs.is_empty());
    assert!(targets(start + RECHECK_INTERVAL).pairs.is_empty());
    assert_eq!(looks.get(), 1, "nothing has changed");
    symlink("one", &link).unwrap();
    let changed = SystemTime::now() + Duration::from_secs(1);
    fs::File::open(&home).unwrap().set_modified(changed).unwrap();
    let found = targets(start + RECHECK_INTERVAL * 2);
    assert_eq!((looks.get(), &found.pairs), (2, &vec![(home.join("one"), link.clone())]));
    targets(start + RECHECK_INTERVAL * 2 + SURVEY_TTL);
    assert_eq!(looks.get(), 3, "links may lead through others");
}

#[test]
fn the_names_of_a_place_are_those_that_lead_to_it_or_above_it() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    symlink("dotfiles/config", home.join(".config")).unwrap();
    symlink("/dev/null", home.join(".bash_history")).unwrap();
    let links = [home.join(".config"), home.join(".bash_history")];
    let targets = LinkTargets::new(&links, |_| true);
    let names = |path: &Path| {
        let folded = fold_path(path).into_owned();
        targets.names(&folded).map(|(_, name)| name).collect::<Vec<_>>()
    };
    let below = names(&home.join("dotfiles/config/gh/hosts.yml"));
    assert_eq!(below, [fold_path(&home.join(".config/gh/hosts.yml")).into_owned()]);
    assert_eq!(names(&home.join("dotfiles/config")), [fold_path(&links[0]).into_owned()]);
    assert!(names(&home.join("dotfiles")).is_empty());
    assert!(names(Path::new("/dev/null")).is_empty(), "nobody's secret");
}
