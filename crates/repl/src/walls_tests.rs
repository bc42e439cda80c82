use super::*;

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
    let wider = Confinement { network: true, hidden: Vec::new(), ..open() };
    assert!(still_hold(Some(&open()), Some(&wider)));
    let more = Confinement { write: vec!["/project".into(), "/other".into()], ..open() };
    assert!(still_hold(Some(&open()), Some(&more)));
}

#[test]
fn narrower_rules_end_it() {
    assert!(!still_hold(None, Some(&open())));
    let with_network = Confinement { network: true, ..open() };
    assert!(!still_hold(Some(&with_network), Some(&open())));
    let with_keys = Confinement { services: vec![hermes_core::Service::Keys], ..open() };
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
