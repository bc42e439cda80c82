//! Child processes are never held more loosely than the rules say.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;

use hermes_core::{Confinement, Effect, HostService, Policy as _, Resource, Scope, Taint};
use hermes_policy::PolicyAnswer;

use crate::World;

fn confined(world: &World, yaml: &str, command: &str) -> Confinement {
    let p = world.with(yaml, "p").unwrap();
    let resource = Resource::Command(command.to_owned());
    let effects = [Effect { scope: Scope::TERMINAL_EXECUTE, resource }];
    p.consider(&world.proposal(&effects, &world.at())).1.unwrap()
}

#[test]
fn only_what_is_allowed_without_a_question_is_writable() {
    let world = World::new();
    std::fs::create_dir_all(world.path("ws/docs")).unwrap();
    let cases = [
        ("allow: [terminal:execute, file:read]", vec![]),
        (
            "allow: [terminal:execute, {scope: file:write, paths: ['${workspace}/docs/**']}]",
            vec!["ws/docs"],
        ),
        ("allow: ['*'], approval_required: [file:write]", vec![]),
        ("allow: ['*'], deny: ['file:*']", vec![]),
        (
            "allow: ['*'], restrictions: {file:write: {allowed_paths: ['${workspace}/src/*.rs']}}",
            vec![],
        ),
        ("allow: ['*'], restrictions: {file:write: {allowed_paths: ['${workspace}']}}", vec![]),
        (
            "allow: ['*'], restrictions: {file:write: {allowed_paths: ['${workspace}/docs/**'], elsewhere: ask}}",
            vec!["ws/docs"],
        ),
        (
            "allow: ['*'], restrictions: {'file:*': {allowed_paths: ['${workspace}/**']}, file:write: {allowed_paths: ['${workspace}/src/**', '/srv/**']}}",
            vec!["ws/src"],
        ),
        (
            "allow: ['*'], tools: {probe: {restrictions: {file:write: {allowed_paths: ['${workspace}/src/**']}}}}",
            vec!["ws/src"],
        ),
        ("allow: ['*'], tools: {probe: {deny: [file:write]}}", vec![]),
        (
            "allow: ['*'], after_untrusted: {restrictions: {file:write: {allowed_paths: ['${workspace}/src/**']}}}",
            vec!["ws/src"],
        ),
    ];
    Taint::record_source(&world.session, "web_extract", &[]).unwrap();
    for (profile, trees) in cases {
        let confinement = confined(&world, &format!("profiles: {{p: {{{profile}}}}}"), "make");
        let trees: Vec<PathBuf> = trees.into_iter().map(|tree| world.path(tree)).collect();
        assert_eq!(confinement.write, trees, "{profile}");
    }
}

#[test]
fn what_is_refused_inside_a_writable_tree_stays_as_it_is() {
    let world = World::new();
    for name in [
        "ws/a/x",
        "ws/b/x",
        "ws/c/x",
        "ws/d/x",
        "ws/.git/config",
        "ws/.git/hooks/x",
        "ws/sub/.git/hooks/x",
        "home/.bashrc",
    ] {
        world.put(name, "x");
    }
    let yaml = "
global:
  restrictions: {file:write: {denied_paths: ['${workspace}/b']}}
profiles:
  p:
    allow: ['*']
    deny: [{scope: file:write, paths: ['${workspace}/a/**']}]
    approval_required: [{scope: file:write, paths: ['${workspace}/c/**']}]
    tools: {probe: {deny: [{scope: file:write, paths: ['${workspace}/d/**']}]}}
";
    let confinement = confined(&world, yaml, "make");
    assert_eq!(confinement.write, [PathBuf::from("/")]);
    for name in ["ws/a", "ws/b", "ws/c", "ws/d", "ws/.git/hooks", "home/.bashrc", "hermes"] {
        assert!(
            confinement.read_only.contains(&world.path(name)),
            "{name}: {:?}",
            confinement.read_only
        );
    }
    assert!(confinement.read_only.contains(&"/etc".into()), "{:?}", confinement.read_only);
    // Whoever agreed to a place meant it.
    let confinement = confined(&world, yaml, "touch c/new");
    assert!(
        !confinement.read_only.contains(&world.path("ws/c"))
            && confinement.read_only.contains(&world.path("ws/a"))
    );
}

#[test]
fn what_may_not_be_read_is_hidden() {
    let world = World::new();
    for name in [
        "ws/a/x",
        "ws/b/x",
        "ws/.env.custom",
        "ws/.env.example",
        "ws/id_ed25519",
        "home/.ssh/id_rsa",
        "home/.netrc",
        "hermes/auth.json",
    ] {
        world.put(name, "x");
    }
    let yaml = "
global:
  restrictions: {file:read: {denied_paths: ['${workspace}/b', '~/.netrc']}}
profiles:
  p:
    allow: ['*']
    deny: [{scope: 'file:*', paths: ['${workspace}/a/**']}]
    sensitive_paths: [~/.ssh/**, ~/.netrc]
";
    let confinement = confined(&world, yaml, "make");
    for name in ["ws/a", "ws/b", "ws/.env.custom", "ws/id_ed25519", "hermes/auth.json"] {
        assert!(confinement.hidden.contains(&world.path(name)), "{name}: {:?}", confinement.hidden);
    }
    assert!(!confinement.hidden.contains(&world.path("ws/.env.example")));
    assert!(!confinement.hidden.contains(&world.path("home/.ssh")), "the profile lays it open");
    assert!(
        confinement.hidden.contains(&world.path("home/.netrc")),
        "but cannot lift what others deny"
    );
}

#[test]
fn an_agreement_opens_no_folder_of_everything() {
    let world = World::new();
    let default = "profiles: {p: {extends: default}}";
    let confinement = confined(&world, default, "touch /new-file");
    assert!(!confinement.write.contains(&"/".into()), "{:?}", confinement.write);
    let above = world.path("new-file");
    let confinement = confined(&world, default, &format!("touch {}", above.display()));
    let mut beside = confinement.frozen.clone();
    beside.sort();
    assert_eq!(beside, ["hermes", "home", "out"].map(|name| world.path(name)));
    let confinement = confined(&world, default, "touch ../out/x");
    assert!(confinement.write.contains(&world.path("out")));
}

#[test]
fn to_remove_a_link_is_not_to_write_where_it_leads() {
    let world = World::new();
    symlink(world.path("home"), world.path("ws/link")).unwrap();
    let confinement = confined(&world, "profiles: {p: {extends: default}}", "rm link");
    assert!(!confinement.write.contains(&world.path("home")), "{:?}", confinement.write);
    assert!(confinement.write.contains(&world.path("ws")));
}

#[test]
fn a_tree_that_has_become_a_link_is_closed() {
    let world = World::new();
    let yaml = "profiles: {p: {allow: ['*'], restrictions: {file:write: {allowed_paths: ['${workspace}/build/**']}}}}";
    let p = world.with(yaml, "p").unwrap();
    symlink(world.path("home"), world.path("ws/build")).unwrap();
    let effects =
        [Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Command("make".into()) }];
    let confinement = p.consider(&world.proposal(&effects, &world.at())).1.unwrap();
    assert!(confinement.write.is_empty(), "{:?}", confinement.write);
}

#[test]
fn reading_that_was_agreed_to_is_possible() {
    let world = World::new();
    let file = world.put("out/file", "x");
    let yaml = "profiles: {p: {allow: ['*'], restrictions: {file:read: {allowed_paths: ['${workspace}/**'], elsewhere: ask}}}}";
    let confinement = confined(&world, yaml, "cat ../out/file");
    assert!(confinement.read.contains(&file), "{:?}", confinement.read);
    assert!(!confined(&world, yaml, "cat src/x").read.contains(&file));
}

#[test]
fn a_granted_folder_keeps_its_secrets() {
    let world = World::new();
    world.put("ws/.env", "KEY=1");
    let key = world.put("home/.ssh/id_ed25519", "key");
    std::fs::hard_link(&key, world.path("ws/hard")).unwrap();
    let rules = "profiles:\n  mine:\n    extends: default\n    restrictions:\n      file:read:\n        denied_paths: [\"${workspace}/private/**\"]\n";
    let permissions = world.with(rules, "mine").unwrap();
    let effects = [Effect::path(Scope::FILE_READ, world.path("ws"))];
    let at = world.at();
    let grants = permissions.judge(&world.proposal(&effects, &at)).grants;
    let closes = |path: &str| grants.denies(&Scope::FILE_READ, &world.path(path));
    assert!(closes("ws/.env") && closes("ws/a/.env.local") && closes("ws/private/x"));
    assert!(!closes("ws/a.rs") && !closes("ws/.env.example") && !closes("ws/privately"));
    assert!(grants.denies(&Scope::FILE_WRITE, &world.path("ws/.git/hooks/pre-commit")));
    assert!(!grants.denies(&Scope::FILE_WRITE, &world.path("ws/src/a.rs")));
    // Another name of a secret, by what the system knows it as.
    let hard = world.path("ws/hard");
    let found = std::fs::metadata(&hard).unwrap();
    let shared = |ino: u64| grants.denies_hard_linked(&Scope::FILE_READ, &hard, (found.dev(), ino));
    assert!(shared(found.ino()) && !shared(found.ino() + 1));
}

#[test]
fn a_command_is_served_by_those_it_is_a_client_of() {
    let world = World::new();
    let cases = [
        ("./script.sh", vec![]),
        ("tmux run-shell date", vec![]),
        ("curl http://example.com; ./script.sh", vec![]),
        ("git status", vec![]),
        ("git fetch", vec![HostService::Keys]),
        ("git fetch && ./script.sh", vec![]),
        ("docker ps; python3 script.py", vec![]),
        ("ssh example.com", vec![HostService::Keys]),
        ("docker ps", vec![HostService::Containers]),
    ];
    for (command, services) in cases {
        let confinement = confined(&world, "profiles: {p: {allow: ['*']}}", command);
        assert_eq!(confinement.services, services, "{command}");
    }
    // Who wonders is told.
    let confinement = confined(&world, "profiles: {p: {allow: ['*']}}", "git fetch && make");
    assert_eq!(confinement.denied_services, [HostService::Keys]);
}

#[test]
fn what_may_not_be_deleted_cannot_be_deleted_by_a_script() {
    let world = World::new();
    world.put("ws/src/main.rs", "x");
    let yaml = "profiles: {p: {extends: default, restrictions: {file:delete: \
                {denied_paths: ['${workspace}/src/**']}}}}";
    let p = world.with(yaml, "p").unwrap();
    let read_only = |text: &str| {
        let resource = Resource::Command(text.to_owned());
        let effect = Effect { scope: Scope::TERMINAL_EXECUTE, resource };
        let confinement = p.consider(&world.proposal(&[effect], &world.at())).1.unwrap();
        confinement.read_only.iter().any(|path| world.path("ws/src/main.rs").starts_with(path))
    };
    assert!(read_only("python3 x.py"));
    // What it says of itself was judged.
    assert!(!read_only("sed -i s/a/b/ src/main.rs"));
}

#[test]
fn what_is_refused_after_untrusted_text_is_refused_to_children() {
    let world = World::new();
    world.put("ws/keep/x", "x");
    let yaml = "profiles: {p: {extends: default, after_untrusted: {\
                deny: [{scope: 'file:*', paths: ['${workspace}/keep/**']}], \
                approval_required: [{scope: file:write, paths: ['${workspace}/src/**']}]}}}";
    let keep = world.path("ws/keep");
    assert!(!confined(&world, yaml, "python3 x.py").hidden.contains(&keep));
    Taint::record_source(&world.session, "web_extract", &[]).unwrap();
    let confinement = confined(&world, yaml, "python3 x.py");
    assert!(
        confinement.hidden.contains(&keep) && confinement.read_only.contains(&keep),
        "{confinement:?}"
    );
    assert!(confinement.read_only.contains(&world.path("ws/src")), "{confinement:?}");
}

#[test]
fn where_a_scope_denies_deletion_no_child_deletes() {
    let world = World::new();
    world.put("ws/.git/HEAD", "ref: refs/heads/main\n");
    world.put("ws/src/a", "x");
    let deleting = |rules: &str, command: &str| {
        confined(&world, &format!("profiles: {{p: {{extends: default, {rules}}}}}"), command).delete
    };
    let nowhere = Some(Vec::new());
    assert_eq!(deleting("deny: []", "python3 x.py"), None);
    for rules in [
        "deny: [file:delete]",
        "approval_required: [file:delete]",
        "tools: {probe: {deny: [file:delete]}}",
    ] {
        assert_eq!(deleting(rules, "python3 x.py"), nowhere, "{rules}");
    }
    // What was asked about and agreed to can be done.
    let asked = deleting("approval_required: [file:delete]", "rm src/a");
    assert_eq!(asked, Some(vec![world.path("ws/src")]));
    assert_eq!(deleting("deny: [file:delete]", "rm src/a"), nowhere);
    // A commit renames files, in the repository.
    let git = deleting("deny: [file:delete]", "git commit -m x");
    assert_eq!(git, Some(vec![world.path("ws/.git")]));
    let only = "restrictions: {file:delete: {allowed_paths: ['${workspace}/src/**']}}";
    let only = format!("profiles: {{p: {{allow: ['*'], {only}}}}}");
    assert_eq!(confined(&world, &only, "make").delete, Some(vec![world.path("ws/src")]));
}

#[test]
fn secrets_further_down_are_hidden_and_new_ones_awaited() {
    let world = World::new();
    world.put("ws/packages/api/.env", "KEY=1");
    world.put("ws/packages/api/.env.example", "KEY=");
    world.put("ws/node_modules/x/.env", "KEY=1");
    let default = "profiles: {p: {extends: default}}";
    let p = world.with(default, "p").unwrap();
    let hidden = || {
        let resource = Resource::Command("make".to_owned());
        let effects = [Effect { scope: Scope::TERMINAL_EXECUTE, resource }];
        p.consider(&world.proposal(&effects, &world.at())).1.unwrap()
    };
    let confinement = hidden();
    assert!(
        confinement.hidden.contains(&world.path("ws/packages/api/.env")),
        "{:?}",
        confinement.hidden
    );
    assert!(!confinement.hidden.contains(&world.path("ws/packages/api/.env.example")));
    for (name, is_awaited) in [
        ("ws/.env", true),
        ("ws/.env.production", true),
        ("ws/.envrc", true),
        ("ws/deploy.p12", true),
        ("ws/packages/api/.env.local", true),
        // The home is a view, in which it is not there.
        ("home/.netrc", false),
        ("ws/.env.example", false),
        ("ws/environment", false),
    ] {
        assert_eq!(confinement.pending_secrets.contains(&world.path(name)), is_awaited, "{name}");
    }
    // What is made is seen at once, however short ago somebody looked.
    world.put("ws/.env.local", "KEY=1");
    assert!(hidden().hidden.contains(&world.path("ws/.env.local")));
    let open = "profiles: {p: {extends: default, sensitive_paths: ['${workspace}/.env*']}}";
    assert!(!confined(&world, open, "make").pending_secrets.contains(&world.path("ws/.env")));
}

#[test]
fn of_our_own_home_children_see_what_is_no_secret() {
    let world = World::new();
    for name in ["secrets.json", "config.yaml", "skills/a", "approvals/x", ".hermes-1.tmp"] {
        world.put(&format!("hermes/{name}"), "x");
    }
    let default = "profiles: {p: {extends: default}}";
    let confinement = confined(&world, default, "make");
    let ours = confinement.partial_dirs.iter().find(|it| it.dir == world.path("hermes"));
    let home = ours.unwrap_or_else(|| panic!("{:?}", confinement.partial_dirs));
    let open = ["config.yaml", "hermes_permissions.yaml", "skills"];
    assert_eq!(home.open, open.map(|name| world.path(&format!("hermes/{name}"))));
    let open = "profiles: {p: {extends: default, sensitive_paths: ['${hermes}/**']}}";
    let confinement = confined(&world, open, "make");
    assert!(!confinement.partial_dirs.iter().any(|it| it.dir == world.path("hermes")));
}

#[test]
fn a_project_without_our_folder_gets_none_while_git_runs() {
    let world = World::new();
    world.put("ws/a", "x");
    world.put("ws/.git/HEAD", "ref: refs/heads/main\n");
    let ours = world.path("ws/.hermes");
    let default = "profiles: {p: {extends: default}}";
    for command in ["python3 mk.py", "git add a; python3 mk.py", "git stash -u; python3 mk.py"] {
        let confinement = confined(&world, default, command);
        assert!(
            confinement.masked_missing.contains(&ours),
            "{command}: {:?}",
            confinement.masked_missing
        );
    }
    // It would stumble over what is empty.
    assert!(!confined(&world, default, "git stash -u").masked_missing.contains(&ours));
}

/// What is not to be made here. There may be repositories in the temporary
/// folder of this machine.
fn forbidden(world: &World, confinement: &Confinement) -> Vec<PathBuf> {
    let here = confinement.quarantined.iter().filter(|path| path.starts_with(world.path("")));
    here.cloned().collect()
}

#[test]
fn what_the_rules_refuse_by_name_is_not_made_either() {
    let world = World::new();
    world.put("ws/there/x", "x");
    let yaml = "profiles: {p: {extends: default, restrictions: {file:write: {\
                denied_paths: ['${workspace}/vendor/**', '${workspace}/only.txt', \
                '${workspace}/there/**', '**/x.lock'], approval_paths: ['${workspace}/asked']}}}}";
    let made = |command: &str| forbidden(&world, &confined(&world, yaml, command));
    let names = ["asked", "only.txt", "vendor"].map(|name| world.path(&format!("ws/{name}")));
    assert_eq!(made("python3 mk.py"), names);
    // What was asked about and agreed to can be made.
    assert!(!made("touch asked").contains(&world.path("ws/asked")));
    assert!(made("touch vendor/x").contains(&world.path("ws/vendor")), "a refusal stays one");
}

#[test]
fn start_up_files_are_not_made_where_the_home_can_be_written() {
    let world = World::new();
    world.put("home/.bashrc", "x");
    let home = "profiles: {p: {extends: default, restrictions: {file:write: \
                {allowed_paths: ['${home}/**']}}}}";
    let confinement = confined(&world, home, "python3 mk.py");
    for name in [
        ".bash_profile",
        ".profile",
        ".zshrc",
        ".gitconfig",
        ".config/autostart",
        ".config/fish",
        ".config/systemd",
        ".npmrc",
        ".vimrc",
        ".local/bin",
        ".cargo/config.toml",
    ] {
        let path = world.path(&format!("home/{name}"));
        assert!(confinement.quarantined.contains(&path), "{name}: {:?}", confinement.quarantined);
    }
    let closed =
        |name: &str| confinement.quarantined.contains(&world.path(&format!("home/{name}")));
    assert!(!closed(".bashrc"), "what is there is covered");
    assert!(!closed(".ssh") && !closed(".bash_history"));
    let outside = |path: &PathBuf| !path.starts_with(world.path("home"));
    assert!(!forbidden(&world, &confinement).iter().any(outside), "{:?}", confinement.quarantined);
    let open = home.replace("{p: {", "{p: {sensitive_paths: ['~/.zshrc'], ");
    let zshrc = world.path("home/.zshrc");
    assert!(!confined(&world, &open, "python3 mk.py").quarantined.contains(&zshrc));
    // In any other folder there is nothing to look after.
    let default = "profiles: {p: {extends: default}}";
    assert!(forbidden(&world, &confined(&world, default, "python3 mk.py")).is_empty());
}

#[test]
fn what_outlives_hermes_is_asked_about_where_somebody_has_to_look() {
    let world = World::new();
    let home = "profiles: {p: {extends: default, restrictions: {file:write: \
                {allowed_paths: ['${home}/**']}}}}";
    let answer = |yaml: &str, command: &str, detach: bool| {
        let p = world.with(yaml, "p").unwrap();
        let script = hermes_core::ShellScript {
            text: command.to_owned(),
            background: detach,
            detaches: detach,
            ..hermes_core::ShellScript::default()
        };
        let resource = Resource::Script(Box::new(script));
        world.examine(&p, Effect { scope: Scope::TERMINAL_EXECUTE, resource }).answer()
    };
    assert_eq!(answer(home, "python3 serve.py", true), PolicyAnswer::Ask);
    assert_eq!(answer(home, "python3 serve.py", false), PolicyAnswer::Allow);
    assert_eq!(answer(home, "sleep 60", true), PolicyAnswer::Allow);
    let default = "profiles: {p: {extends: default}}";
    assert_eq!(answer(default, "python3 serve.py", true), PolicyAnswer::Allow);
}

#[test]
fn what_was_agreed_to_elsewhere_leaves_its_neighbours_as_they_are() {
    let world = World::new();
    for name in ["out/old", "out/deep/old", "home/notes"] {
        world.put(name, "x");
    }
    let default = "profiles: {p: {extends: default}}";
    let paths = |names: &[&str]| names.iter().map(|name| world.path(name)).collect::<Vec<_>>();
    let (out, home) = (world.path("out"), world.path("home"));
    for (command, open, kept) in [
        ("echo x > ../out/new; python3 x.py", &out, vec!["out/deep", "out/old"]),
        ("cp src ../out/new; python3 x.py", &out, vec!["out/deep", "out/old"]),
        ("cp src/a ../out/; python3 x.py", &out, vec!["out/deep", "out/old"]),
        ("mv src/a ../out/zz; python3 x.py", &out, vec!["out/deep", "out/old"]),
        ("rm ../out/old", &out, vec!["out/deep"]),
        ("mkdir ~/newdir", &home, vec!["home/.ssh", "home/notes"]),
        ("echo hi > ~/newfile", &home, vec!["home/.ssh", "home/notes"]),
    ] {
        let confinement = confined(&world, default, command);
        assert!(confinement.write.contains(open), "{command}: {:?}", confinement.write);
        let mut beside = confinement.frozen.clone();
        beside.sort();
        assert_eq!(beside, paths(&kept), "{command}");
    }
    // What is there is opened for itself.
    let confinement = confined(&world, default, "echo x >> ../out/old; python3 x.py");
    assert!(confinement.write.contains(&world.path("out/old")) && confinement.frozen.is_empty());
    // The question says what it is about.
    let p = world.with(default, "p").unwrap();
    let asked = world.command(&p, "echo x > ../out/new; python3 x.py");
    let reason = &asked.decisive_finding().unwrap().reason;
    assert!(reason.contains(&format!("new files in {}", out.display())), "{reason}");
}
