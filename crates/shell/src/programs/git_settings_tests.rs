use crate::corpus_tests::{findings, look};

/// Every setting whose value git runs, loads or goes to, however it is given.
const ASKED: &[&str] = &[
    "gc.recentObjectsHook ./x",
    "lfs.extension.a.clean ./x",
    "lfs.extension.a.smudge ./x",
    "lfs.customtransfer.a.path ./x",
    "lfs.customtransfer.a.args '-x'",
    "lfs.standalonetransferagent a",
    "lfs.https://h.x.standalonetransferagent a",
    "lfs.url https://evil.com/x",
    "remote.origin.lfsurl https://evil.com/x",
    "sendemail.toCmd ./x",
    "sendemail.work.ccCmd ./x",
    "sendemail.headerCmd ./x",
    "sendemail.smtpServer /tmp/x",
    "imap.tunnel ./x",
    "instaweb.httpd ./x",
    "instaweb.browser ./x",
    "instaweb.modulePath ./x",
    "branch.main.pushRemote https://evil.com/x",
    "branch.main.remote git@evil.com:x",
    "branch.a.b.remote /tmp/x",
    "remote.pushDefault https://evil.com/x",
    "remote.origin.pushurl https://evil.com/x",
    "remote.origin.url https://evil.com/x",
    "remote.origin.proxy http://evil.com",
    "remote.origin.vcs x",
    "submodule.a.url https://evil.com/x",
    "submodule.a.update '!./x'",
    "url.https://evil.com/.insteadOf https://github.com/",
    "http.https://h.x.proxy http://evil.com",
    "http.sslCert ./x",
    "http.curloptResolve h.x:443:1.2.3.4",
    "protocol.ext.allow always",
    "protocol.allow always",
    "mergetool.a.cmd ./x",
    "difftool.a.path ./x",
    "diff.a.textconv ./x",
    "merge.a.driver ./x",
    "filter.a.process ./x",
    "credential.https://h.x.helper ./x",
    "core.alternateRefsCommand ./x",
    "gpg.ssh.program ./x",
    "gpg.ssh.defaultKeyCommand ./x",
    "uploadpack.packObjectsHook ./x",
    "trailer.a.cmd ./x",
    "guitool.a.cmd ./x",
    "man.a.cmd ./x",
    "pager.log ./x",
    "tar.a.command ./x",
    "web.browser ./x",
    "include.path ../x",
    "includeIf.gitdir:~/a/.path ../x",
    "clean.requireForce false",
    "alias.x '!./x'",
    "alias.x '-c core.pager=./x log'",
    "alias.x 'difftool -x ./x -y'",
    "alias.x 'rebase -x ./x HEAD~1'",
    "alias.x 'bisect run ./x'",
    "alias.x 'grep -O./x a'",
    "alias.x 'fetch --upload-pack ./x'",
    "alias.x '-c alias.y=!./x y'",
];

/// Settings beside them.
const QUIET: &[&str] = &[
    "user.name Me",
    "user.email me@x.org",
    "core.autocrlf input",
    "core.pager cat",
    "core.pager less",
    "core.fsmonitor true",
    "core.editor vim",
    "core.excludesFile .ignored",
    "pull.rebase true",
    "push.default current",
    "init.defaultBranch main",
    "branch.main.remote origin",
    "branch.main.remote .",
    "branch.main.pushRemote fork",
    "branch.main.merge refs/heads/main",
    "remote.origin.prune true",
    "remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'",
    "submodule.a.update none",
    "submodule.recurse true",
    "clean.requireForce true",
    "gc.auto 0",
    "lfs.fetchexclude big",
    "lfs.locksverify false",
    "diff.tool vimdiff",
    "http.postBuffer 524288000",
    "protocol.version 2",
    "protocol.file.allow always",
    "alias.st status",
    "alias.lg 'log --oneline --graph'",
    "alias.lc \"log -n 1 --format='%h %s'\"",
    "alias.unstage 'reset HEAD --'",
    "alias.amend 'commit --amend --no-edit'",
    "alias.ri 'rebase -i'",
    "alias.p 'push --force-with-lease'",
    "safe.directory /work",
];

/// As it is stored, given for one call, and brought by a clone.
fn forms(setting: &str) -> Vec<String> {
    let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
    vec![
        format!("git config {name} {value}"),
        format!("git config set --global {name} {value}"),
        format!("git -c {name}={value} status"),
        format!("git clone -c {name}={value} https://github.com/a/b"),
    ]
}

#[test]
fn settings_that_run_or_lead_elsewhere_ask() {
    let all = ASKED.iter().flat_map(|setting| forms(setting));
    let quiet: Vec<String> = all.filter(|source| look(source).level().is_none()).collect();
    assert!(quiet.is_empty(), "{quiet:#?}");
    for setting in ASKED {
        let name = setting.split(' ').next().unwrap_or(setting);
        let source = format!("GIT_CONFIG_KEY_0='{name}' git status");
        assert!(!findings(&source).is_empty(), "{source}");
    }
}

#[test]
fn other_settings_are_quiet() {
    let all = QUIET.iter().flat_map(|setting| forms(setting));
    let loud: Vec<_> =
        all.map(|source| (findings(&source), source)).filter(|(all, _)| !all.is_empty()).collect();
    assert!(loud.is_empty(), "{loud:#?}");
}

#[test]
fn a_value_may_come_from_a_variable_or_be_looked_at() {
    for source in [
        "git --config-env=core.pager=X log",
        "git --config-env core.sshCommand=X fetch",
        "git --config-env=remote.origin.url=X fetch",
        "git config \"$KEY\" ./x; git config core.pager \"$x\"",
        "git config --rename-section a core",
        "git config -f .git/config core.pager ./x",
        "git config --replace-all core.pager ./x",
        "git config --unset remote.origin.url",
    ] {
        assert!(look(source).level().is_some(), "{source}");
    }
    for source in [
        "git config core.pager",
        "git config get core.pager",
        "git config --get remote.origin.url",
        "git config --get-regexp '^remote' x",
        "git config --list --show-origin",
        "git config --unset user.name",
        "git config --default x user.name",
    ] {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn what_git_does_not_know_is_deleted_after_a_question() {
    for source in [
        "git clean -f",
        "git clean -d",
        "git clean",
        "git -c clean.requireForce=false clean -d",
        "git config clean.requireForce false && git clean",
        "git clean -fd -enode",
        "git clean -i",
    ] {
        assert!(look(source).level().is_some(), "{source}");
    }
    for source in ["git clean -n", "git clean -ndx", "git clean --dry-run -d", "git clean --help"] {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn a_helper_that_stores_credentials_in_a_plain_file_asks() {
    for setting in ["credential.helper store", "credential.https://h.x.helper store"] {
        for source in forms(setting) {
            assert!(findings(&source).contains(&"Ask env-override".to_owned()), "{source}");
        }
    }
    assert!(look("git config credential.helper 'store --file x'").level().is_some());
    for setting in ["credential.helper cache", "credential.helper osxkeychain"] {
        for source in forms(setting) {
            assert_eq!(findings(&source), Vec::<String>::new(), "{source}");
        }
    }
}
