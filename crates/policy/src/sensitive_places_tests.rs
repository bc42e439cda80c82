#![allow(clippy::unwrap_used)]
use std::path::{Path, PathBuf};

use super::{ProtectedSets, SensitivePlaces, expand_wildcard, is_wildcard_place};
use crate::level::PolicyAnswer;
use crate::pattern::{PathVariables, fold_path};

fn places(home: &str) -> PathVariables {
    PathVariables {
        workspace: Some("/ws".into()),
        home: Some(home.into()),
        hermes: PathBuf::from(home).join(".hermes"),
        temp: vec![],
    }
}

fn reading(sensitive: &SensitivePlaces, path: impl AsRef<Path>) -> PolicyAnswer {
    let found = sensitive.read_protection(&fold_path(path.as_ref()));
    found.map_or(PolicyAnswer::Allow, |found| found.kind.answer())
}

fn writing(sensitive: &SensitivePlaces, path: impl AsRef<Path>) -> PolicyAnswer {
    let found = sensitive.write_protection(&fold_path(path.as_ref()));
    found.map_or(PolicyAnswer::Allow, |found| found.kind.answer())
}

fn reads(sensitive: &SensitivePlaces, path: &str) -> bool {
    reading(sensitive, path) == PolicyAnswer::Allow
}

fn writes(sensitive: &SensitivePlaces, path: &str) -> bool {
    writing(sensitive, path) == PolicyAnswer::Allow
}

#[test]
fn secrets_are_neither_read_nor_written() {
    let s = SensitivePlaces::new(&places("/home/me"));
    for path in [
        "/home/me/.ssh",
        "/home/me/.ssh/id_rsa",
        "/home/me/.ssh/deep/x",
        "/home/me/.AWS/credentials",
        "/home/other/.ssh/id_rsa",
        "/root/.ssh/authorized_keys",
        "/home/me/.netrc",
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
        assert_eq!(
            (reading(&s, path), writing(&s, path)),
            (PolicyAnswer::Deny, PolicyAnswer::Deny),
            "{path}"
        );
    }
}

/// N A7: what a person may want is asked about.
#[test]
fn n_a7_variables_of_a_project_and_start_up_files_are_asked_about() {
    let s = SensitivePlaces::new(&places("/home/me"));
    for path in ["/ws/.env", "/ws/a/.ENV", "/ws/.env.local", "/ws/.env. ", "/ws/.envrc"] {
        assert_eq!(
            (reading(&s, path), writing(&s, path)),
            (PolicyAnswer::Ask, PolicyAnswer::Ask),
            "{path}"
        );
    }
    for path in ["/home/me/.bashrc", "/home/me/.config/nvim/init.lua", "/home/me/.local/bin/ls"] {
        assert_eq!(
            (reading(&s, path), writing(&s, path)),
            (PolicyAnswer::Allow, PolicyAnswer::Ask),
            "{path}"
        );
    }
    // A secret place stays one, whatever the file in it is called.
    for path in ["/home/me/.aws/.env", "/home/me/.hermes/.env"] {
        assert_eq!(
            (reading(&s, path), writing(&s, path)),
            (PolicyAnswer::Deny, PolicyAnswer::Deny),
            "{path}"
        );
    }
}

#[test]
fn set_up_is_read_but_not_written() {
    let s = SensitivePlaces::new(&places("/home/me"));
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
    let s = SensitivePlaces::new(&places("/home/me"));
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
        let s = SensitivePlaces::new(&places(home));
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
                s.named_secrets().contains(&named(name)),
                "{home}: {name} as it is written on the disk"
            );
        }
        assert!(
            s.guarded_places().contains(&named(".bashrc"))
                && s.guarded_places().contains(&named(".hermes"))
        );
    }
}

#[test]
fn without_a_home_the_rest_is_protected() {
    let s = SensitivePlaces::new(&PathVariables { home: None, ..places("/home/me") });
    assert!(!reads(&s, "/etc/shadow") && !reads(&s, "/home/me/.ssh/x") && !reads(&s, "/ws/.env"));
}

#[test]
fn a_set_that_could_not_be_made_holds_everything() {
    let unmade = || super::LazyGlobs::new(vec!["/a/[".to_owned()], &[]);
    assert!(unmade().is_match(Path::new("/ws/a")).is_none());
    let sets = ProtectedSets { secret: unmade(), setup: unmade(), startup: unmade() };
    let broken = SensitivePlaces {
        unreadable: unmade(),
        unwritable: unmade(),
        open: unmade(),
        sets: sets.into(),
        ..SensitivePlaces::new(&places("/home/me"))
    };
    assert!(!reads(&broken, "/ws/a") && !writes(&broken, "/ws/a"));
}

#[test]
fn a_folder_with_something_protected_in_it_is_known() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    std::fs::create_dir_all(home.join(".config/gh")).unwrap();
    std::fs::create_dir_all(home.join("notes")).unwrap();
    let s = SensitivePlaces::new(&places(home.to_str().unwrap()));
    let removing = |path: &Path| s.removal_protection(path).map(|found| found.kind.answer());
    assert_eq!(removing(&home.join(".config")), Some(PolicyAnswer::Deny));
    assert_eq!(removing(&home), Some(PolicyAnswer::Deny));
    assert_eq!(removing(&home.join("notes")), None);
    assert_eq!(removing(&home.join(".config/other")), None);
    std::fs::create_dir_all(home.join(".local/share/nvim/site")).unwrap();
    assert_eq!(removing(&home.join(".local")), Some(PolicyAnswer::Ask), "start-up files only");
}

#[test]
fn what_has_a_star_in_its_name_is_found_for_the_sandbox() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().canonicalize().unwrap();
    for name in ["shadow", "shadow-", "other"] {
        std::fs::write(home.join(name), "x").unwrap();
    }
    let found = expand_wildcard(&format!("{}/shadow*", home.display()));
    let mut names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
    names.sort();
    assert_eq!(names, ["shadow", "shadow-"]);
    assert!(is_wildcard_place("/etc/shadow*") && is_wildcard_place("/home/*/.ssh/**"));
    assert!(!is_wildcard_place("**/.env") && !is_wildcard_place("/proc/*/environ"));
    if std::path::Path::new("/etc/shadow").exists() {
        assert!(
            SensitivePlaces::new(&places("/home/me"))
                .present_secrets()
                .contains(&"/etc/shadow".into())
        );
    }
}

/// However the patterns are kept apart, they answer as one set of all would.
#[test]
fn a_divided_set_answers_as_one() {
    use proptest::prelude::*;
    let homes =
        ["/home/me", "/", "/home/me/", "/Users/Some One", "/srv/[a]*b/{c}", "/tmp/h", "/h/é"];
    for home in homes {
        let sensitive = SensitivePlaces::new(&places(home));
        for globs in [&sensitive.unreadable, &sensitive.unwritable, &sensitive.open] {
            let one = globs.as_one();
            let matched = std::cell::Cell::new(0);
            let config =
                ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() };
            proptest!(config, |(path in globs.paths())| {
                for path in [path.as_path(), &Path::new("/").join(&path), &fold_path(&path)] {
                    let answer = globs.is_match(path);
                    prop_assert_eq!(answer, Some(one.is_match(path)), "{}", path.display());
                    matched.set(matched.get() + usize::from(answer == Some(true)));
                }
            });
            assert!(matched.get() > 100, "{home}: the paths are made so that some match");
        }
    }
}

/// S B4: the credential stores that the finding names, and those of the groups.
#[test]
fn s_b4_credential_stores_are_not_read() {
    let s =
        SensitivePlaces::new(&PathVariables { hermes: "/srv/hermes".into(), ..places("/home/me") });
    for name in [
        ".gemini/oauth_creds.json",
        ".claude.json",
        ".codex/auth.json",
        ".config/github-copilot/hosts.json",
        ".config/github-copilot/apps.json",
        ".local/share/opencode/auth.json",
        ".config/cursor/auth.json",
        ".config/goose/secrets.yaml",
        ".aider.conf.yml",
        ".config/containers/auth.json",
        ".docker/config.json",
        ".pulumi/credentials.json",
        ".oci/key.pem",
        ".thunderbird/x.default/logins.json",
        ".config/Slack/Cookies",
        ".config/Signal/config.json",
        ".config/discord/Local Storage/x",
        ".config/Bitwarden CLI/data.json",
        ".ethereum/keystore/UTC--1",
        ".subversion/auth/svn.simple/x",
        ".config/stripe/config.toml",
        ".config/ngrok/ngrok.yml",
        ".config/argocd/config",
        ".config/heroku/x",
        ".config/netlify/config.json",
        ".terraformrc",
        ".dbt/profiles.yml",
        ".config/vivaldi/Default/Cookies",
        ".config/microsoft-edge/Default/Login Data",
        ".config/opera/Cookies",
        "snap/firefox/common/.mozilla/firefox/x/key4.db",
        ".var/app/org.mozilla.firefox/.mozilla/firefox/x/key4.db",
        ".config/protonvpn/x",
        // Our own secrets, although our home is elsewhere this time.
        ".hermes/secrets.json",
        ".hermes/auth.json",
        ".hermes/approvals/x",
    ] {
        let path = format!("/home/me/{name}");
        assert_eq!(
            (reading(&s, &path), writing(&s, &path)),
            (PolicyAnswer::Deny, PolicyAnswer::Deny),
            "{name}"
        );
    }
    for name in [".hermes/skills/a/SKILL.md", ".hermes/config.yaml", ".config/stripes/x"] {
        assert_eq!(reading(&s, format!("/home/me/{name}")), PolicyAnswer::Allow, "{name}");
    }
    assert_eq!(reading(&s, "/srv/hermes/secrets.json"), PolicyAnswer::Deny);
}

#[test]
fn s_b5_what_other_programs_run_by_themselves_is_asked_about() {
    let s = SensitivePlaces::new(&places("/home/me"));
    for name in [
        ".vscode/tasks.json",
        ".vscode/settings.json",
        "packages/a/.vscode/launch.json",
        ".idea/workspace.xml",
        ".idea/x/workspace.xml",
        ".idea/runConfigurations/Run.xml",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/hooks/pre.sh",
        ".mcp.json",
        ".cursor/mcp.json",
        ".cursor/rules/a.mdc",
        ".devcontainer/devcontainer.json",
        ".devcontainer.json",
        ".husky/pre-commit",
        ".cargo/config.toml",
        ".yarnrc.yml",
        ".npmrc",
        ".gdbinit",
        ".exrc",
        ".dir-locals.el",
        "AGENTS.md",
        "docs/claude.md",
        ".gitmodules",
        ".git/config",
        ".git/hooks/pre-commit",
        ".codex/config.toml",
        ".opencode/agent/x.md",
        ".zed/tasks.json",
        "mise.toml",
    ] {
        let path = Path::new("/ws").join(name);
        assert_eq!(
            (reading(&s, &path), writing(&s, &path)),
            (PolicyAnswer::Allow, PolicyAnswer::Ask),
            "{name}"
        );
        assert!(s.is_auto_run(&path), "{name}");
    }
    for name in [
        ".github/workflows/ci.yml",
        ".pre-commit-config.yaml",
        ".gitattributes",
        ".tool-versions",
        ".vscode/notes.md",
        "src/agents.rs",
        ".env",
    ] {
        assert!(!s.is_auto_run(&Path::new("/ws").join(name)), "{name}");
    }
}

/// S A2: a protected name that is a link protects what it leads to.
#[test]
fn s_a2_the_target_of_a_protected_link_is_protected() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let (home, ws) = (root.join("home"), root.join("home/ws"));
    for (name, link) in [
        ("dotfiles/netrc", ".netrc"),
        ("dotfiles/aws/credentials", ""),
        ("dotfiles/config/gh/hosts.yml", ""),
        ("dotfiles/config/app/settings", ""),
        ("dotfiles/ssh_config", ""),
        ("ws/rc", ".bashrc"),
        ("ws/config/prod.vars", ""),
        ("ws/packages/api/local.vars", ""),
        ("ws/plain", ""),
    ] {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "x").unwrap();
        if !link.is_empty() {
            symlink(&path, home.join(link)).unwrap();
        }
    }
    std::fs::create_dir(home.join(".ssh")).unwrap();
    symlink("dotfiles/aws", home.join(".aws")).unwrap();
    symlink("dotfiles/config", home.join(".config")).unwrap();
    symlink("../dotfiles/ssh_config", home.join(".ssh/config")).unwrap();
    symlink("config/prod.vars", ws.join(".env")).unwrap();
    symlink("local.vars", ws.join("packages/api/.env.local")).unwrap();
    symlink("/dev/null", home.join(".bash_history")).unwrap();
    let places = PathVariables {
        workspace: Some(ws.clone()),
        home: Some(home.clone()),
        hermes: root.join("hermes"),
        temp: vec![],
    };
    let s = SensitivePlaces::new(&places);
    for (name, read, write) in [
        ("dotfiles/netrc", PolicyAnswer::Deny, PolicyAnswer::Deny),
        ("dotfiles/aws", PolicyAnswer::Deny, PolicyAnswer::Deny),
        ("dotfiles/aws/credentials", PolicyAnswer::Deny, PolicyAnswer::Deny),
        ("dotfiles/aws/sso/cache/new", PolicyAnswer::Deny, PolicyAnswer::Deny),
        ("dotfiles/config/gh/hosts.yml", PolicyAnswer::Deny, PolicyAnswer::Deny),
        ("dotfiles/config/nvim/init.lua", PolicyAnswer::Allow, PolicyAnswer::Ask),
        ("dotfiles/config/app/settings", PolicyAnswer::Allow, PolicyAnswer::Allow),
        ("dotfiles/ssh_config", PolicyAnswer::Deny, PolicyAnswer::Deny),
        ("ws/rc", PolicyAnswer::Allow, PolicyAnswer::Ask),
        ("ws/config/prod.vars", PolicyAnswer::Ask, PolicyAnswer::Ask),
        ("ws/packages/api/local.vars", PolicyAnswer::Ask, PolicyAnswer::Ask),
        ("ws/plain", PolicyAnswer::Allow, PolicyAnswer::Allow),
        ("dotfiles", PolicyAnswer::Allow, PolicyAnswer::Allow),
    ] {
        let path = home.join(name);
        assert_eq!((reading(&s, &path), writing(&s, &path)), (read, write), "{name}");
    }
    assert_eq!(reading(&s, "/dev/null"), PolicyAnswer::Allow);
    let removing = |name: &str| s.removal_protection(&home.join(name)).map(|it| it.kind.answer());
    assert_eq!(removing("dotfiles"), Some(PolicyAnswer::Deny));
    assert_eq!(removing("dotfiles/config"), Some(PolicyAnswer::Deny));
    assert_eq!(removing("ws/packages/other"), None);
    let linked = s.linked_targets();
    for name in [
        "dotfiles/netrc",
        "dotfiles/aws",
        "dotfiles/config/gh",
        "dotfiles/ssh_config",
        "ws/config/prod.vars",
        "ws/packages/api/local.vars",
    ] {
        assert!(linked.contains(&home.join(name)), "{name}: {linked:?}");
    }
    assert!(!linked.contains(&home.join("ws/rc")) && !linked.contains(&"/dev/null".into()));
}

/// Somebody who works on the settings of an editor has them for a workspace.
#[test]
fn a_workspace_that_a_start_up_name_leads_to_can_be_written() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().canonicalize().unwrap();
    for directory in ["src/nvim", ".config"] {
        std::fs::create_dir_all(home.join(directory)).unwrap();
    }
    std::os::unix::fs::symlink(home.join("src/nvim"), home.join(".config/nvim")).unwrap();
    let at = |workspace: &str| {
        let places = places(home.to_str().unwrap());
        SensitivePlaces::new(&PathVariables { workspace: Some(home.join(workspace)), ..places })
    };
    let file = home.join("src/nvim/init.lua");
    assert_eq!(writing(&at("src/nvim"), &file), PolicyAnswer::Allow);
    assert_eq!(writing(&at("other"), &file), PolicyAnswer::Ask);
}
