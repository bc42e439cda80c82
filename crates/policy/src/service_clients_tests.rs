use std::path::Path;

use hermes_core::{HostService, WorkingDir};

use super::ServiceClients;

fn clients(command: &str) -> ServiceClients {
    let at = WorkingDir::new("/srv/project", Some(Path::new("/home/me").into()));
    let mut clients = ServiceClients::default();
    clients.add_command(&hermes_shell::analyze(command, &at));
    clients
}

#[test]
fn a_service_is_for_commands_that_are_nothing_but_known() {
    use HostService::{Containers, Databases, Keys};
    let cases = [
        ("docker ps", vec![Containers]),
        ("docker ps -q | head -3 | xargs docker inspect | jq '.[0]'", vec![Containers]),
        ("docker ps | awk '{print $1}'", vec![Containers]),
        ("cd sub && docker compose ps > list.txt", vec![Containers]),
        ("docker exec box python3 x.py", vec![Containers]),
        ("timeout 5 git push origin main", vec![Keys]),
        ("bash -c 'git fetch origin'", vec![Keys]),
        ("git add -A && git commit -m x && git push", vec![Keys]),
        ("git submodule update --init", vec![Keys]),
        ("ssh example.org uptime", vec![Keys]),
        ("for r in a b; do git fetch $r; done", vec![Keys]),
        ("echo 'select 1' | psql shop", vec![Databases]),
    ];
    for (command, served) in cases {
        let found = clients(command);
        assert_eq!(found.reachable_services(), served, "{command}");
        assert!(found.denied_services().is_empty(), "{command}");
    }
}

#[test]
fn what_may_do_anything_is_served_by_nobody_and_nor_is_what_runs_beside_it() {
    use HostService::{Containers, Databases, Keys};
    let cases = [
        ("docker ps; python3 conn.py", Containers),
        ("docker ps; python3 -c 'import json'", Containers),
        ("docker ps; sh b.sh", Containers),
        ("docker ps; bash < b.sh", Containers),
        ("docker ps; source b.sh", Containers),
        ("docker ps; . ./b.sh", Containers),
        ("docker ps & ./b", Containers),
        ("docker ps | awk -f b.awk", Containers),
        ("docker ps $(./b)", Containers),
        ("docker ps; find . -exec ./b {} +", Containers),
        ("docker ps; ls | xargs python3 b.py", Containers),
        ("docker ps; make", Containers),
        ("docker ps; npm test", Containers),
        ("docker ps; cargo build", Containers),
        ("docker ps; nobodyknows x", Containers),
        ("docker ps; bash -c 'python3 b.py'", Containers),
        ("docker ps; ./docker exec box ls", Containers),
        ("docker ps; d() { python3 b.py; }; d", Containers),
        ("git fetch && make", Keys),
        ("git commit -m x; python3 b.py", Keys),
        ("git rebase -x 'python3 b.py' main", Keys),
        ("psql shop -c 'select 1'; node b.js", Databases),
    ];
    for (command, withheld) in cases {
        let found = clients(command);
        assert!(
            found.reachable_services().is_empty(),
            "{command}: {:?}",
            found.reachable_services()
        );
        assert_eq!(found.denied_services(), [withheld], "{command}");
    }
}

#[test]
fn git_that_neither_reaches_others_nor_signs_needs_no_keys() {
    for command in ["git status", "git diff", "git log -3", "git add -A", "git stash", "git gc"] {
        assert_eq!(clients(command), ServiceClients::default(), "{command}");
    }
    assert!(clients("git add -A; python3 x.py").denied_services().is_empty());
}

#[test]
fn the_lists_are_in_order() {
    use super::{
        CLIENT_PROGRAMS, HARMLESS_PROGRAMS, REMOTE_RUNNERS, SCRIPT_FILTERS, SHELL_PROGRAMS,
        WRAPPER_PROGRAMS,
    };
    for list in [
        CLIENT_PROGRAMS,
        REMOTE_RUNNERS,
        HARMLESS_PROGRAMS,
        SCRIPT_FILTERS,
        SHELL_PROGRAMS,
        WRAPPER_PROGRAMS,
    ] {
        assert!(list.is_sorted(), "{list:?}");
    }
}
