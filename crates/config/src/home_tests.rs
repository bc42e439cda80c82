#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn hermes_home_wins_over_home() {
    let env = EnvSnapshot::from_iter([("HERMES_HOME", "/srv/h"), ("HOME", "/home/u")]);
    let home = HermesHome::from_env(&env).unwrap();
    assert_eq!(home.root(), Path::new("/srv/h"));
    assert_eq!(home.config_file(), Path::new("/srv/h/config.yaml"));
    assert_eq!(home.env_file(), Path::new("/srv/h/.env"));
    assert_eq!(home.toolsets_file(), Path::new("/srv/h/toolsets.json"));
    assert_eq!(home.logs_dir(), Path::new("/srv/h/logs"));
    assert_eq!(home.cache_dir(), Path::new("/srv/h/cache"));
}

#[test]
fn the_default_is_in_the_users_home() {
    let env = EnvSnapshot::from_iter([("HOME", "/home/u"), ("HERMES_HOME", "")]);
    assert_eq!(HermesHome::from_env(&env).unwrap().root(), Path::new("/home/u/.hermes"));
}

#[test]
fn tilde_and_relative_paths_become_absolute() {
    let env = EnvSnapshot::from_iter([("HERMES_HOME", "~/alt"), ("HOME", "/home/u")]);
    assert_eq!(HermesHome::from_env(&env).unwrap().root(), Path::new("/home/u/alt"));
    let env = EnvSnapshot::from_iter([("HERMES_HOME", "alt")]);
    assert!(HermesHome::from_env(&env).unwrap().root().is_absolute());
}

#[test]
fn no_home_at_all_says_what_to_set() {
    for env in [EnvSnapshot::default(), EnvSnapshot::from_iter([("HERMES_HOME", "~/x")])] {
        let error = HermesHome::from_env(&env).unwrap_err().to_string();
        assert!(error.contains("HERMES_HOME"), "{error}");
        assert!(error.contains("hint:"), "{error}");
    }
}

#[test]
fn looking_up_creates_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("absent");
    let home = HermesHome::at(&root);
    let _ = (home.config_file(), home.logs_dir(), home.session_state_dir());
    assert!(!root.exists());
}
