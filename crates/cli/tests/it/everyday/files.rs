//! Secrets and caches of the user: neither read under another name nor changed.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::everyone;
use super::user::TestUser;

const SECRET: &str = "the canary sings";

#[track_caller]
fn assert_kept(user: &TestUser, path: &str) {
    let read = format!(
        "cat {path}; cp {path} copy.txt; cat copy.txt; python3 -c \"print(open('{path}').read())\"; \
         for process in /proc/[0-9]*; do cat $process/root{path} 2>/dev/null; done"
    );
    user.write("read.sh", format!("#!/bin/sh\n{read}\n"));
    for result in [
        user.attempt(&read),
        user.attempt("./read.sh"),
        user.call("read_file", json!({ "path": path })),
        user.call("search_files", json!({ "pattern": "canary", "path": path })),
        user.call("search_files", json!({ "pattern": "canary", "path": user.home() })),
    ] {
        assert!(!result.to_string().contains(SECRET), "{path}: {result}");
    }
}

everyone!(a_secret_behind_a_link_is_not_read_by_its_real_path);
fn a_secret_behind_a_link_is_not_read_by_its_real_path(user: &mut TestUser) {
    let real = user.write_home("dotfiles/cloud/credentials", format!("{SECRET}\n"));
    user.write_home(".aws/config", "");
    symlink(&real, user.home().join(".aws/credentials")).expect("a link");
    let key = user.write_home("dotfiles/key", format!("{SECRET}\n"));
    user.write_home(".ssh/known_hosts", "");
    symlink(&key, user.home().join(".ssh/id_ed25519")).expect("a link");
    for path in
        [&real, &key, &user.home().join(".aws/credentials"), &user.home().join(".ssh/id_ed25519")]
    {
        assert_kept(user, &path.to_string_lossy());
    }
}

everyone!(a_directory_behind_a_link_is_not_read_by_its_real_path);
fn a_directory_behind_a_link_is_not_read_by_its_real_path(user: &mut TestUser) {
    let real = user.write_home("dotfiles/ssh/id_ed25519", format!("{SECRET}\n"));
    symlink(user.home().join("dotfiles/ssh"), user.home().join(".ssh")).expect("a link");
    assert_kept(user, &real.to_string_lossy());
    assert_kept(user, &user.home().join(".ssh/id_ed25519").to_string_lossy());
}

everyone!(a_secret_that_is_replaced_stays_hidden);
fn a_secret_that_is_replaced_stays_hidden(user: &mut TestUser) {
    let path = user.write_home(".aws/credentials", "the first\n");
    let fresh = user.write_home(".aws/fresh", format!("{SECRET}\n"));
    let (shown, home) = (path.display().to_string(), user.home());
    let reader = format!(
        "i=0; while [ $i -lt 30 ]; do cat {shown} 2>/dev/null; sleep 0.1; i=$((i+1)); done"
    );
    user.write("read.sh", format!("#!/bin/sh\n{reader}\n"));
    let replacer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(1500));
        std::fs::rename(fresh, home.join(".aws/credentials")).expect("a new file");
    });
    let result = user.attempt("./read.sh");
    replacer.join().expect("it was replaced");
    assert!(!result.to_string().contains(SECRET), "{result}");
    assert_kept(user, &shown);
}

everyone!(the_users_own_caches_are_not_changed);
fn the_users_own_caches_are_not_changed(user: &mut TestUser) {
    let places = [
        ".npm/_cacache/x",
        ".cargo/registry/x",
        ".cache/pip/x",
        ".m2/repository/x",
        ".local/bin/tool",
    ];
    for place in places {
        user.write_home(place, "mine\n");
    }
    let mut script = "#!/bin/sh\n".to_owned();
    for place in places {
        script += &format!(
            "echo poison > ~/{place}; cat ~/{place}; mv ~/{place} ~/{place}.old; echo poison > ~/{place}; chmod 777 ~/{place}\n"
        );
    }
    user.write(
        "poison.sh",
        script
            + "ln -f ~/.npm/_cacache/x hard; echo poison >> hard; rm -rf ~/.npm ~/.m2/repository\n",
    );
    let result = user.attempt("./poison.sh");
    let output = result["output"].as_str().unwrap_or_default();
    assert_eq!(
        output.matches("poison").count(),
        places.len(),
        "an overlay takes the changes: {result}"
    );
    for place in places {
        let text = std::fs::read_to_string(user.home().join(place)).expect("the user's own file");
        assert_eq!(text, "mine\n", "{place}");
        assert!(!user.home().join(format!("{place}.old")).exists(), "{place}");
    }
    // Nor through the directory in which hermes stores the changes.
    let overlays = user.home().join(".hermes/sandbox/overlays");
    let result = user.attempt(&format!(
        "find {} -type f; echo x > {}/x",
        overlays.display(),
        overlays.display()
    ));
    assert!(!result.to_string().contains("_cacache"), "{result}");
    assert!(!overlays.join("x").exists(), "{result}");
}
