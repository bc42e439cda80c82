use super::*;

fn client(executable: &str, arguments: &[&str], callers: &[&[&str]]) -> ClientProcess {
    let line = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    ClientProcess {
        pid: 7,
        executable: executable.into(),
        arguments: line(arguments),
        is_installed: true,
        has_generated_code: false,
        job: None,
        callers: callers.iter().map(|words| line(words)).collect(),
    }
}

#[test]
fn native_clients_that_only_fetch_are_known_by_their_command_line() {
    for words in [
        vec!["curl", "-sL", "https://example.com/a"],
        vec!["wget", "-q", "https://example.com/a"],
        vec!["cargo", "build", "--release"],
        vec!["go", "mod", "download"],
        vec!["uv", "sync"],
        vec!["git", "clone", "https://example.com/a.git"],
    ] {
        assert!(
            is_fetching_client(&client(&format!("/usr/bin/{}", words[0]), &words, &[])),
            "{words:?}"
        );
    }
    for words in [
        vec!["curl", "-d", "@secret", "https://example.com/a"],
        vec!["curl", "-T", "f", "https://example.com/a"],
        vec!["wget", "--post-file=x", "https://example.com/a"],
        vec!["cargo", "publish"],
        vec!["python3", "x.py"],
        vec!["node", "server.js"],
        vec!["nc", "example.com", "80"],
    ] {
        assert!(
            !is_fetching_client(&client(&format!("/usr/bin/{}", words[0]), &words, &[])),
            "{words:?}"
        );
    }
}

#[test]
fn what_git_starts_does_what_git_was_told() {
    let helper = ["git-remote-https", "origin", "https://example.com/a.git"];
    let of = |caller: &[&str]| {
        let own = ["/usr/lib/git-core/git", "remote-https", "origin", "https://example.com/a.git"];
        is_fetching_client(&client("/usr/lib/git-core/git-remote-http", &helper, &[&own, caller]))
    };
    assert!(of(&["git", "fetch", "origin"]));
    assert!(of(&["git", "pull"]));
    assert!(!of(&["git", "push", "origin", "main"]));
    assert!(!of(&["python3", "x.py"]));
    assert!(!is_fetching_client(&client("/usr/bin/ssh", &["ssh", "example.com"], &[])));
}

#[test]
fn a_changed_program_is_not_the_known_one() {
    let mut curl = client("/tmp/curl", &["curl", "https://example.com"], &[]);
    curl.is_installed = false;
    assert!(!is_fetching_client(&curl));
    let mut npm = client("/usr/bin/node", &["npm install x"], &[]);
    assert_eq!(package_manager(&npm), Some("npm"));
    npm.is_installed = false;
    assert_eq!(package_manager(&npm), None);
}

#[test]
fn package_managers_are_known_by_their_command_lines() {
    for (executable, words, wanted) in [
        ("/usr/bin/node", &["node", "/usr/lib/node_modules/npm/bin/npm-cli.js", "ci"][..], "npm"),
        ("/usr/bin/node", &["npm install left-pad"], "npm"),
        ("/usr/bin/node", &["node", "/opt/yarn/lib/yarn.js", "add", "x"], "npm"),
        ("/usr/bin/python3.11", &["python3", "-m", "pip", "install", "six"], "pip"),
        ("/usr/bin/python3.11", &["/usr/bin/python3", "/home/me/.local/bin/pip", "install"], "pip"),
        (
            "/usr/bin/java",
            &["java", "-classpath", "/usr/share/maven/boot/plexus-classworlds-2.x.jar"],
            "mvn",
        ),
        ("/home/me/.cargo/bin/cargo", &["cargo", "build"], "cargo"),
        ("/usr/bin/go", &["go", "build", "./..."], "go"),
    ] {
        assert_eq!(package_manager(&client(executable, words, &[])), Some(wanted), "{words:?}");
    }
    for (executable, words) in [
        ("/usr/bin/node", &["node", "server.js"][..]),
        ("/usr/bin/python3", &["python3", "x.py", "pipeline"]),
        ("/usr/bin/nc", &["npm", "install"]),
    ] {
        assert_eq!(package_manager(&client(executable, words, &[])), None, "{words:?}");
    }
}
