use proptest::prelude::*;

use super::*;

fn passed(vars: &[(&str, &str)], extra: &[&str]) -> Vec<String> {
    let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let extra: Vec<String> = extra.iter().map(|name| (*name).to_owned()).collect();
    child_env(vars, &extra).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn a_variable_that_has_changed_is_judged_anew() {
    let vars = |value: &str| vec![("EDITOR".into(), value.into()), ("HOME".into(), "/h".into())];
    let names = |passed: Vec<(String, String)>| passed.into_iter().map(|it| it.0).collect();
    let mut judged = FilteredEnvCache::default();
    let mut passed = |value: &str| -> Vec<String> { names(judged.filter(vars(value))) };
    assert_eq!(passed("vi"), ["EDITOR", "HOME"]);
    assert_eq!(passed("vi"), ["EDITOR", "HOME"]);
    assert_eq!(passed("ghp_0123456789abcdef0123456789"), ["HOME"]);
    assert_eq!(passed("nano"), ["EDITOR", "HOME"]);
    assert_eq!(judged.filter(vec![("EDITOR".into(), "ed".into())]).len(), 1);
}

#[test]
fn what_programs_need_passes() {
    let vars = [
        ("PATH", "/usr/bin"),
        ("HOME", "/home/a"),
        ("LC_ALL", "C.UTF-8"),
        ("XDG_RUNTIME_DIR", "/run/user/1"),
        ("CARGO_HOME", "/c"),
        ("CMAKE_GENERATOR", "Ninja"),
        ("PWD", "/w"),
        ("HTTPS_PROXY", "http://proxy:3128"),
        ("ANDROID_HOME", "/opt/android"),
        ("RUBY_VERSION", "3.3.1"),
        ("RAILS_ENV", "test"),
        ("APP_ENV", "production"),
        ("PORT", "3000"),
        ("DEBUG", "app:*"),
        ("DJANGO_SETTINGS_MODULE", "shop.settings.local"),
        ("MY_FLAG", "1"),
        ("npm_config_cache", "/var/cache/npm"),
    ];
    let names: Vec<&str> = vars.iter().map(|(name, _)| *name).collect();
    assert_eq!(passed(&vars, &[]), names);
}

#[test]
fn what_is_not_known_stays() {
    let vars = [
        ("PATHOLOGICAL", "1"),
        ("HOME_ASSISTANT_URL", "http://h"),
        ("HOMEX", "/h"),
        ("LCX", "1"),
        ("XDGX", "1"),
        ("TERMINAL_EMULATOR", "x"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("KUBECONFIG", "/k"),
        ("DATABASE_URL", "sqlite://x"),
        ("path", "/usr/bin"),
        ("_HOME", "/x"),
        ("STRANGE_HOME", "not a path"),
        ("SOME_VERSION", "a sentence about it"),
        ("LD_PRELOAD", "/evil.so"),
        ("LD_DEBUG", "all"),
        ("BASH_ENV", "start"),
        ("ENV", "start"),
        ("HERMES_MODE", "1"),
        ("APP_ENV", "q8Zx2Lk9vB4nT7mW1rYc"),
        ("MY_FLAG", "see the other page"),
        ("npm_config__auth", "dXNlcjpwYXNz"),
        ("", ""),
    ];
    assert_eq!(passed(&vars, &[]), Vec::<String>::new());
}

#[test]
fn secrets_stay_even_under_known_names() {
    let vars = [
        ("CONDA_TOKEN", "abc"),
        ("CMAKE_API_KEY", "abc"),
        ("HTTPS_PROXY", "http://me:hunter2@proxy:3128"),
        ("RUSTFLAGS", "--cfg ghp_0123456789abcdefghij"),
        ("SECRET_HOME", "/x"),
        ("OPENAI_API_KEY", "sk-abcdefghijklmnop1234"),
    ];
    assert_eq!(passed(&vars, &[]), Vec::<String>::new());
}

#[test]
fn the_user_passes_names_through() {
    let vars = [("MY_THING", "1"), ("MY_TOKEN", "1"), ("MYSTERY", "1"), ("OTHER", "1")];
    assert_eq!(passed(&vars, &["OTHER"]), ["OTHER"]);
    assert_eq!(passed(&vars, &["MY_*"]), ["MY_THING"]);
    assert_eq!(passed(&vars, &["MY_*", "MY_TOKEN"]), ["MY_THING", "MY_TOKEN"]);
    // Neither of these is the name of a family.
    assert_eq!(passed(&vars, &["*", "MY*", "_*"]), Vec::<String>::new());
}

proptest! {
    #[test]
    fn no_longer_name_slips_through(at in 0..ALLOWED_VARIABLES.len(), more in "[A-Z]{1,6}") {
        let name = format!("{}{more}", ALLOWED_VARIABLES[at]);
        prop_assume!(!ALLOWED_VARIABLES.contains(&name.as_str()));
        prop_assume!(!ALLOWED_PREFIXES.iter().any(|family| name.starts_with(family)));
        prop_assume!(!PATH_SUFFIXES.iter().any(|place| name.ends_with(place)));
        prop_assert!(passed(&[(&name, "value")], &[]).is_empty(), "{}", name);
    }

    #[test]
    fn nothing_secret_passes(name in "(LC_|XDG_|CONDA_|MY_)?[A-Z_]{0,12}", value in ".{0,40}") {
        for name in passed(&[(&name, &value)], &["MY_*"]) {
            prop_assert!(ALLOWED_VARIABLES.contains(&name.as_str()) || !is_secret(&name, &value));
            prop_assert!(!is_secret_value(&value));
        }
    }
}
