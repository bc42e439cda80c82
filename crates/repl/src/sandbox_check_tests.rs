use super::*;

fn still_hold(then: Option<&Confinement>, now: Option<&Confinement>) -> bool {
    find_breach(then, now, |_| false).is_none()
}

fn open() -> Confinement {
    Confinement {
        read: vec!["/".into()],
        write: vec!["/project".into()],
        read_only: vec!["/project/.git/hooks".into()],
        hidden: vec!["/home/.ssh".into()],
        ..Confinement::default()
    }
}

#[test]
fn the_same_and_wider_rules_let_it_go_on() {
    let now = open();
    assert!(still_hold(Some(&open()), Some(&now)));
    assert!(still_hold(Some(&open()), None));
    let wider =
        Confinement { network: hermes_core::NetworkMode::Host, hidden: Vec::new(), ..open() };
    assert!(still_hold(Some(&open()), Some(&wider)));
    let more = Confinement { write: vec!["/project".into(), "/other".into()], ..open() };
    assert!(still_hold(Some(&open()), Some(&more)));
}

#[test]
fn narrower_rules_end_it() {
    assert!(!still_hold(None, Some(&open())));
    let with_network = Confinement { network: hermes_core::NetworkMode::Host, ..open() };
    assert!(!still_hold(Some(&with_network), Some(&open())));
    let with_keys = Confinement { services: vec![hermes_core::HostService::Keys], ..open() };
    assert!(!still_hold(Some(&with_keys), Some(&open())));
    let narrow = [
        Confinement { write: vec!["/project/part".into()], ..open() },
        Confinement { read: vec!["/usr".into()], ..open() },
        Confinement { hidden: vec!["/home/.ssh".into(), "/project/.env".into()], ..open() },
        Confinement {
            read_only: vec!["/project/.git/hooks".into(), "/project/x".into()],
            ..open()
        },
        Confinement { bubblewrap: true, ..open() },
    ];
    for now in narrow {
        assert!(!still_hold(Some(&open()), Some(&now)), "{now:?}");
    }
}

#[test]
fn what_came_to_be_ends_it_only_if_it_is_secret() {
    let is_new = |path: &Path| path.starts_with("/project/new") || path.ends_with(".env");
    let found = |now: Confinement| find_breach(Some(&open()), Some(&now), is_new);
    let guarded = Confinement {
        read_only: vec!["/project/.git/hooks".into(), "/project/new/.vscode".into()],
        ..open()
    };
    assert_eq!(found(guarded), None);
    let secret =
        Confinement { hidden: vec!["/home/.ssh".into(), "/project/.env".into()], ..open() };
    let breach = found(secret.clone()).unwrap();
    assert_eq!(breach, SandboxBreach::SecretAppeared("/project/.env".into()));
    assert!(breach.message().contains("/project/.env is protected"), "{}", breach.message());
    let both = Confinement { write: vec!["/project/part".into()], ..secret };
    assert_eq!(found(both), Some(SandboxBreach::RulesNarrowed));
}
