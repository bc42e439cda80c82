#![allow(clippy::unwrap_used)]
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{ApprovalTicket, GRANT_LIFETIME, MAX_TICKETS, PENDING_LIFETIME, TicketStore};
use hermes_core::clock::unix_millis;

struct Desk {
    _root: tempfile::TempDir,
    folder: PathBuf,
    tickets: TicketStore,
}

fn desk() -> Desk {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("questions");
    Desk { _root: root, tickets: TicketStore::new(&folder), folder }
}

fn call(number: usize) -> String {
    blake3::hash(&number.to_le_bytes()).to_hex().to_string()
}

fn ticket(call: &str) -> ApprovalTicket {
    ApprovalTicket {
        token: TicketStore::token(call),
        call: call.to_owned(),
        tool: "probe".into(),
        effects: vec![],
        reason: "because".into(),
        profile: "default".into(),
        folder: "/ws".into(),
        asked_ms: unix_millis(),
        granted_ms: None,
    }
}

impl Desk {
    fn put(&self, ticket: &ApprovalTicket) {
        std::fs::create_dir_all(&self.folder).unwrap();
        let path = self.folder.join(format!("{}.json", ticket.token));
        std::fs::write(path, serde_json::to_vec(ticket).unwrap()).unwrap();
    }

    fn files(&self) -> usize {
        std::fs::read_dir(&self.folder).unwrap().count()
    }
}

fn ago(time: std::time::Duration) -> u64 {
    unix_millis() - u64::try_from(time.as_millis()).unwrap() - 60_000
}

#[test]
fn a_ticket_is_left_approved_and_used_once() {
    let desk = desk();
    let call = call(1);
    assert!(!desk.tickets.redeem(&call), "there is none");
    let token = desk.tickets.issue(ticket(&call)).unwrap();
    assert!(!desk.tickets.redeem(&call), "nobody approved it");
    assert_eq!(desk.tickets.list().len(), 1, "and it is still there");
    desk.tickets.grant(&token).unwrap();
    assert!(desk.tickets.redeem(&call));
    assert!(!desk.tickets.redeem(&call));
    assert_eq!(desk.files(), 0);
    desk.tickets.issue(ticket(&call)).unwrap();
    assert!(desk.tickets.discard(&token) && !desk.tickets.discard(&token));
}

#[test]
fn of_many_at_once_one_succeeds() {
    const AT_ONCE: usize = 8;
    let desk = desk();
    for round in 0..20 {
        let call = call(round);
        let token = desk.tickets.issue(ticket(&call)).unwrap();
        desk.tickets.grant(&token).unwrap();
        let (start, wins) = (Barrier::new(AT_ONCE), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    start.wait();
                    if desk.tickets.redeem(&call) {
                        wins.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(wins.into_inner(), 1);
    }
    assert_eq!(desk.files(), 0);
}

#[test]
fn nothing_holds_for_ever() {
    let desk = desk();
    let call = call(1);
    let ahead = unix_millis() + 10 * u64::try_from(PENDING_LIFETIME.as_millis()).unwrap();
    for (asked_ms, granted_ms) in [
        (ago(PENDING_LIFETIME), None),
        (ago(GRANT_LIFETIME), Some(ago(GRANT_LIFETIME))),
        // Written by a clock that was wrong, or by somebody.
        (ahead, None),
        (unix_millis(), Some(ahead)),
        (unix_millis(), Some(u64::MAX)),
    ] {
        let old = ApprovalTicket { asked_ms, granted_ms, ..ticket(&call) };
        desk.put(&old);
        assert!(desk.tickets.list().is_empty());
        assert!(!desk.tickets.redeem(&call));
        assert!(desk.tickets.grant(&old.token).is_err());
    }
    let fresh = ApprovalTicket {
        asked_ms: ago(GRANT_LIFETIME),
        granted_ms: Some(unix_millis()),
        ..ticket(&call)
    };
    desk.put(&fresh);
    assert!(desk.tickets.redeem(&call));
}

#[test]
fn damage_is_not_an_approval() {
    let desk = desk();
    let call = call(1);
    let token = TicketStore::token(&call);
    let path = desk.folder.join(format!("{token}.json"));
    std::fs::create_dir_all(&desk.folder).unwrap();
    let whole =
        serde_json::to_string(&ApprovalTicket { granted_ms: Some(unix_millis()), ..ticket(&call) })
            .unwrap();
    let other = serde_json::to_string(&ApprovalTicket {
        granted_ms: Some(unix_millis()),
        ..ticket(&self::call(2))
    })
    .unwrap();
    for text in ["", "{", "null", "[]", "\u{0}", whole.get(..whole.len() / 2).unwrap(), &other] {
        std::fs::write(&path, text).unwrap();
        assert!(!desk.tickets.redeem(&call), "{text}");
        assert!(desk.tickets.grant(&token).is_err(), "{text}");
        assert!(desk.tickets.list().is_empty(), "{text}");
    }
    // A new question takes the place of the damage.
    assert!(desk.tickets.issue(ticket(&call)).is_some());
    assert_eq!(desk.tickets.list().len(), 1);
}

#[test]
fn a_short_name_that_two_calls_share_is_of_no_use() {
    let desk = desk();
    let good = call(1);
    let mut evil = good.clone();
    evil.replace_range(40..44, if good.get(40..44) == Some("0000") { "1111" } else { "0000" });
    let token = desk.tickets.issue(ticket(&good)).unwrap();
    assert_eq!(TicketStore::token(&evil), token);
    assert_eq!(desk.tickets.issue(ticket(&evil)), None, "the question that is shown stays the one");
    desk.tickets.grant(&token).unwrap();
    assert!(!desk.tickets.redeem(&evil));
    assert!(desk.tickets.redeem(&good));
}

#[test]
fn names_that_are_none_reach_no_file() {
    let desk = desk();
    let outside = desk.folder.with_file_name("outside.json");
    std::fs::create_dir_all(&desk.folder).unwrap();
    std::fs::write(&outside, "{}").unwrap();
    for name in [
        "",
        "..",
        "../outside",
        "../../../../etc/x",
        "0123456789abcde",
        "0123456789abcdeg",
        "é123456789abcde",
    ] {
        assert!(!desk.tickets.redeem(name) && !desk.tickets.discard(name), "{name}");
        assert!(desk.tickets.grant(name).is_err(), "{name}");
    }
    assert!(outside.exists());
}

#[test]
fn the_old_go_and_what_others_write_stays() {
    let desk = desk();
    std::fs::create_dir_all(&desk.folder).unwrap();
    std::fs::write(desk.folder.join(".0123.tmp"), "{\"half").unwrap();
    desk.put(&ApprovalTicket { asked_ms: ago(PENDING_LIFETIME), ..ticket(&call(0)) });
    for number in 1..=MAX_TICKETS + 5 {
        let asked_ms = unix_millis() - 100_000 + u64::try_from(number).unwrap();
        desk.put(&ApprovalTicket { asked_ms, ..ticket(&call(number)) });
    }
    desk.tickets.issue(ticket(&call(MAX_TICKETS + 6))).unwrap();
    let list = desk.tickets.list();
    assert!(list.len() <= MAX_TICKETS + 1, "{}", list.len());
    let has = |number: usize| list.iter().any(|ticket| ticket.call == call(number));
    assert!(!has(0) && !has(1) && has(MAX_TICKETS) && has(MAX_TICKETS + 6));
    assert!(desk.folder.join(".0123.tmp").exists(), "somebody is writing it");
}

#[test]
fn only_the_user_can_look() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = desk();
    let token = desk.tickets.issue(ticket(&call(1))).unwrap();
    let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(desk.folder.clone()), 0o700);
    assert_eq!(mode(desk.folder.join(format!("{token}.json"))), 0o600);
}
