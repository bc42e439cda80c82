#![allow(clippy::unwrap_used)]
use std::path::{Path, PathBuf};

use super::{Sensitive, is_scattered, spread};
use crate::pattern::{Places, fold};

fn places(home: &str) -> Places {
    Places {
        workspace: Some("/ws".into()),
        home: Some(home.into()),
        hermes: PathBuf::from(home).join(".hermes"),
        temp: vec![],
    }
}

fn reads(sensitive: &Sensitive, path: &str) -> bool {
    sensitive.refuses_read(&fold(Path::new(path))).is_none()
}

fn writes(sensitive: &Sensitive, path: &str) -> bool {
    sensitive.refuses_write(&fold(Path::new(path))).is_none()
}

#[test]
fn secrets_are_neither_read_nor_written() {
    let s = Sensitive::new(&places("/home/me"));
    for path in [
        "/home/me/.ssh",
        "/home/me/.ssh/id_rsa",
        "/home/me/.ssh/deep/x",
        "/home/me/.AWS/credentials",
        "/home/other/.ssh/id_rsa",
        "/root/.ssh/authorized_keys",
        "/home/me/.netrc",
        "/ws/.env",
        "/ws/a/.ENV",
        "/ws/.env.local",
        "/ws/.env. ",
        "/ws/id_ed25519",
        "/etc/shadow",
        "/etc/shadow-",
        "/etc/ssh/ssh_host_rsa_key",
        "/run/docker.sock",
        "/proc/1/environ",
        "/proc/1/task/2/environ",
        "/proc/1/task/2/maps",
        "/proc/1/map_files/x",
        "/proc/7/fd/3",
        "/home/me/.hermes/secrets.json",
        "/home/me/.hermes/secrets.json.bak",
        "/home/me/.hermes/approvals/x.json",
        "/home/me/.hermes/approvals.json",
        "/home/me/.hermes/approvals.json.lock",
        "/home/me/.hermes/config.yaml.lock",
        "/home/me/.hermes/cron/.jobs.lock",
        "/home/me/.hermes/memories/MEMORY.md.lock",
        "/home/me/.hermes/profiles/office/approvals.json",
        "/home/me/.hermes/session-state/s.json",
        "/home/me/.hermes/skills/.hub/token",
        "/dev/sda",
        "/dev/mem",
        "/dev/input/event0",
    ] {
        assert!(!reads(&s, path) && !writes(&s, path), "{path}");
    }
}

#[test]
fn set_up_is_read_but_not_written() {
    let s = Sensitive::new(&places("/home/me"));
    for path in [
        "/etc/hosts",
        "/home/me/.bashrc",
        "/home/me/.config/fish/config.fish",
        "/ws/.git/hooks/pre-commit",
        "/ws/.git/config",
        "/ws/.git/modules/a/b/hooks/post-checkout",
        "/ws/.git/modules/a/config",
        "/ws/.git/worktrees/w/config.worktree",
        "/ws/.git/worktrees/w/commondir",
        "/ws/.git/config.worktree",
        "/ws/.git/commondir",
        "/ws/sub/.git/commondir",
        "/home/me/.vimrc",
        "/home/me/.config/nvim/init.lua",
        "/home/me/.gdbinit",
        "/home/me/.local/bin/ls",
        "/home/me/.config/zsh/.zshrc",
        "/home/me/.oh-my-zsh/custom/a.zsh",
        "/home/me/.nvm/nvm.sh",
        "/home/me/.pyenv/shims/python",
        "/home/me/.local/lib/python3.11/site-packages/usercustomize.py",
        "/home/me/.local/lib/python3.11/site-packages/a.pth",
        "/home/me/.ipython/profile_default/startup/a.py",
        "/home/me/.julia/config/startup.jl",
        "/home/me/go/bin/x",
        "/home/me/.mailcap",
        "/home/me/.terraformrc",
        "/home/me/.ansible.cfg",
        "/home/me/.subversion/config",
        "/home/me/.sbt/1.0/a.sbt",
        "/home/me/.cargo/config.toml",
        "/home/me/.claude/settings.json",
        "/ws/.hermes/x",
        "/home/me/.hermes/config.yaml",
        "/proc/sys/kernel/core_pattern",
        "/sys/power/state",
        "/boot/vmlinuz",
        "/var/spool/cron/me",
    ] {
        assert!(reads(&s, path) && !writes(&s, path), "{path}");
    }
}

#[test]
fn the_rest_is_free() {
    let s = Sensitive::new(&places("/home/me"));
    for path in [
        "/ws/src/main.rs",
        "/ws/.env.example",
        "/ws/.ENV.Sample",
        "/ws/environment",
        "/ws/id_rsa.pub",
        "/home/me/notes",
        "/dev/null",
        "/dev/tty",
        "/home/me/.hermes/cache/x",
        "/home/me/.hermes/skills/a/SKILL.md",
        "/ws/.git/index",
        "/ws/.gitignore",
        "/ws/ssh/key",
    ] {
        assert!(reads(&s, path) && writes(&s, path), "{path}");
    }
}

#[test]
fn a_home_may_have_any_name() {
    for home in [
        "/Users/Me",
        "/home/jos\u{e9}",
        "/home/jose\u{301}",
        "/home/a[1]",
        "/home/{b}",
        "/data/*",
        "/home/a\\b",
    ] {
        let s = Sensitive::new(&places(home));
        assert!(!reads(&s, &format!("{home}/.ssh/id_rsa")), "{home}");
        for name in ["auth.json", "mcp-server-token", "mcp-tokens/x.json"] {
            assert!(!reads(&s, &format!("{home}/.hermes/{name}")), "{home}: {name}");
        }
        assert!(!writes(&s, &format!("{home}/.bashrc")), "{home}");
        assert!(!writes(&s, &format!("{home}/.hermes/config.yaml")), "{home}");
        assert!(writes(&s, &format!("{home}/.hermes/cache/x")), "{home}");
        let named = |name: &str| PathBuf::from(home).join(name);
        for name in [".ssh", ".netrc", ".hermes/auth.json", ".hermes/approvals"] {
            assert!(
                s.named().contains(&named(name)),
                "{home}: {name} as it is written on the disk"
            );
        }
        assert!(s.guarded().contains(&named(".bashrc")) && s.guarded().contains(&named(".hermes")));
    }
}

#[test]
fn without_a_home_the_rest_is_protected() {
    let s = Sensitive::new(&Places { home: None, ..places("/home/me") });
    assert!(!reads(&s, "/etc/shadow") && !reads(&s, "/home/me/.ssh/x") && !reads(&s, "/ws/.env"));
}

#[test]
fn a_set_that_could_not_be_made_holds_everything() {
    let unmade = || super::Globs::new(vec!["/a/[".to_owned()], &[]);
    assert!(unmade().is_match(Path::new("/ws/a")).is_none());
    let broken = Sensitive {
        secret: unmade(),
        protected: unmade(),
        open: unmade(),
        ..Sensitive::new(&places("/home/me"))
    };
    assert!(!reads(&broken, "/ws/a") && !writes(&broken, "/ws/a"));
}

#[test]
fn a_folder_with_something_protected_in_it_is_known() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    std::fs::create_dir_all(home.join(".config/gh")).unwrap();
    std::fs::create_dir_all(home.join("notes")).unwrap();
    let s = Sensitive::new(&places(home.to_str().unwrap()));
    assert!(s.is_above(&home.join(".config")) && s.is_above(&home));
    assert!(!s.is_above(&home.join("notes")) && !s.is_above(&home.join(".config/other")));
}

#[test]
fn what_has_a_star_in_its_name_is_found_for_the_sandbox() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().canonicalize().unwrap();
    for name in ["shadow", "shadow-", "other"] {
        std::fs::write(home.join(name), "x").unwrap();
    }
    let found = spread(&format!("{}/shadow*", home.display()));
    let mut names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
    names.sort();
    assert_eq!(names, ["shadow", "shadow-"]);
    assert!(is_scattered("/etc/shadow*") && is_scattered("/home/*/.ssh/**"));
    assert!(!is_scattered("**/.env") && !is_scattered("/proc/*/environ"));
    if std::path::Path::new("/etc/shadow").exists() {
        assert!(Sensitive::new(&places("/home/me")).present().contains(&"/etc/shadow".into()));
    }
}

/// However the patterns are kept apart, they answer as one set of all would.
#[test]
fn a_divided_set_answers_as_one() {
    use proptest::prelude::*;
    let homes =
        ["/home/me", "/", "/home/me/", "/Users/Some One", "/srv/[a]*b/{c}", "/tmp/h", "/h/é"];
    for home in homes {
        let sensitive = Sensitive::new(&places(home));
        for globs in [&sensitive.secret, &sensitive.protected, &sensitive.open] {
            let one = globs.as_one();
            let matched = std::cell::Cell::new(0);
            let config =
                ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() };
            proptest!(config, |(path in globs.paths())| {
                for path in [path.as_path(), &Path::new("/").join(&path), &fold(&path)] {
                    let answer = globs.is_match(path);
                    prop_assert_eq!(answer, Some(one.is_match(path)), "{}", path.display());
                    matched.set(matched.get() + usize::from(answer == Some(true)));
                }
            });
            assert!(matched.get() > 100, "{home}: the paths are made so that some match");
        }
    }
}
