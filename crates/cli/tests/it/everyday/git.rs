//! Programs that call git.

use super::everyone;
use super::user::TestUser;

/// A repository with one commit.
fn has_repository(user: &TestUser) -> bool {
    user.write_home(".gitconfig", "[user]\n\tname = Someone\n\temail = someone@example.com\n");
    user.write("notes.txt", "one\n");
    user.can("git", "git init -q -b main . && git add . && git commit -qm one")
}

everyone!(make_commits_and_tags);
fn make_commits_and_tags(user: &mut TestUser) {
    if !has_repository(user) || !user.has(&["make"]) {
        return;
    }
    user.write(
        "Makefile",
        "release:\n\techo two >> notes.txt\n\tgit add -A\n\tgit commit -qm two\n\tgit tag -a v2 -m v2\n",
    );
    user.succeed(&["make release"]);
    assert_eq!(user.on_host("git log --format=%s && git tag"), Ok("two\none\nv2".to_owned()));
    assert_eq!(user.on_host("git status --porcelain"), Ok(String::new()));
}

everyone!(a_script_commits_on_a_branch);
fn a_script_commits_on_a_branch(user: &mut TestUser) {
    if !has_repository(user) {
        return;
    }
    user.write(
        "release.sh",
        "#!/bin/sh\nset -e\ngit switch -qc release\necho two >> notes.txt\ngit commit -qam two\n\
         git stash list\ngit switch -q main\ngit merge -q --no-edit release\n",
    );
    user.succeed(&["./release.sh"]);
    assert_eq!(user.on_host("git log -1 --format=%s main"), Ok("two".to_owned()));
}

everyone!(npm_version_commits_and_tags);
fn npm_version_commits_and_tags(user: &mut TestUser) {
    user.write("package.json", r#"{"name":"shop","version":"1.0.0"}"#);
    if !has_repository(user) || !user.has(&["npm"]) {
        return;
    }
    let outputs = user.succeed(&["npm version patch"]);
    assert_eq!(outputs[0].trim(), "v1.0.1", "{outputs:?}");
    assert_eq!(user.on_host("git log -1 --format=%s && git tag"), Ok("1.0.1\nv1.0.1".to_owned()));
}
