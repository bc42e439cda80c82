use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Denies paths with `shut` in their name, and counts the queries.
#[derive(Default)]
struct Rules {
    asked: AtomicUsize,
    seen: Mutex<Vec<PathBuf>>,
}

impl ClosedPathQuery for Rules {
    fn query_closed(&self, _: &Scope, paths: &[PathBuf]) -> Option<Vec<bool>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.seen.lock().extend_from_slice(paths);
        Some(paths.iter().map(|path| path.to_string_lossy().contains("shut")).collect())
    }
}

fn closed(rules: &Arc<Rules>, home: &str, working: (&Path, &Path)) -> ClosedPaths {
    let guarded = Arc::new(HostProtectedPaths::new(Some("/home/there".into()), None));
    let working = (working.0.to_path_buf(), working.1.to_path_buf());
    ClosedPaths::new(guarded, Some(home.into()), working, Some(Arc::clone(rules) as _))
}

#[test]
fn a_tree_is_asked_about_once() {
    let tree = tempfile::tempdir().unwrap();
    let tree = tree.path().canonicalize().unwrap();
    for dir in 0..5 {
        fs::create_dir_all(tree.join(format!("{dir}/shut"))).unwrap();
        for file in 0..20 {
            fs::write(tree.join(format!("{dir}/{file}")), "").unwrap();
        }
    }
    let rules = Arc::new(Rules::default());
    let closed = closed(&rules, "/home/there", (Path::new("/named"), &tree));
    for dir in 0..5 {
        // A walk reaches the directory first.
        assert!(!closed.denies(&Scope::FILE_READ, &tree.join(dir.to_string())));
        for file in 0..20 {
            assert!(!closed.denies(&Scope::FILE_READ, &tree.join(format!("{dir}/{file}"))));
        }
        assert!(closed.denies(&Scope::FILE_READ, &tree.join(format!("{dir}/shut"))));
    }
    assert_eq!(rules.asked.load(Ordering::Relaxed), 1);
    // The rules know it by another name.
    assert!(rules.seen.lock().contains(&"/named/3/7".into()));
}

#[test]
fn nobody_answering_closes_everything() {
    struct Silent;
    impl ClosedPathQuery for Silent {
        fn query_closed(&self, _: &Scope, _: &[PathBuf]) -> Option<Vec<bool>> {
            None
        }
    }
    let guarded = Arc::new(HostProtectedPaths::new(None, None));
    let nowhere = ("/w".into(), "/w".into());
    let closed = ClosedPaths::new(guarded, None, nowhere, Some(Arc::new(Silent)));
    assert!(closed.denies(&Scope::FILE_READ, Path::new("/w/any")));
}

#[test]
fn the_home_of_the_place_is_protected_if_the_rules_know_another() {
    let here = |closed: &ClosedPaths, path: &str| {
        closed.is_closed_locally(&Scope::FILE_READ, Path::new(path), Path::new(path))
    };
    let rules = Arc::new(Rules::default());
    let root = (Path::new("/w"), Path::new("/w"));
    let other = closed(&rules, "/root", root);
    assert!(here(&other, "/home/there/.netrc"));
    assert!(!here(&other, "/home/there/notes"));
    // What is the same everywhere was judged, and perhaps laid open.
    assert!(!here(&other, "/w/.env"));
    // Rules that know this home have judged it.
    assert!(!here(&closed(&rules, "/home/there", root), "/home/there/.netrc"));
}

#[test]
fn what_is_led_to_is_protected_everywhere() {
    let rules = Arc::new(Rules::default());
    let closed = closed(&rules, "/home/there", (Path::new("/w"), Path::new("/w")));
    let leads = |scope: &Scope, to: &str| {
        closed.is_closed_locally(scope, Path::new(to), Path::new("/w/innocent"))
    };
    assert!(leads(&Scope::FILE_READ, "/etc/shadow"));
    assert!(leads(&Scope::FILE_WRITE, "/etc/hosts"));
    assert!(!leads(&Scope::FILE_READ, "/etc/hosts"));
}

#[test]
fn a_private_key_is_known_by_what_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let (key, certificate) = (dir.path().join("a.pem"), dir.path().join("b.pem"));
    fs::write(&key, "-----BEGIN RSA PRIVATE KEY-----\n").unwrap();
    fs::write(&certificate, "-----BEGIN CERTIFICATE-----\n").unwrap();
    let rules = Arc::new(Rules::default());
    let closed = closed(&rules, "/home/there", (dir.path(), dir.path()));
    assert!(closed.is_closed_locally(&Scope::FILE_READ, &key, &key));
    assert!(!closed.is_closed_locally(&Scope::FILE_READ, &certificate, &certificate));
}
