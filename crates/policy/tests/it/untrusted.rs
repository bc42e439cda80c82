//! A profile can be stricter once text from strangers was read.

use hermes_core::{Scope, Taint};
use hermes_policy::PolicyAnswer;

use crate::World;

const CAREFUL: &str = "
profiles:
  careful:
    allow: ['*']
    after_untrusted:
      approval_required: [email:send]
      restrictions:
        file:write: {allowed_paths: ['${workspace}/**'], elsewhere: ask}
      new_hosts: ask
";

#[test]
fn after_untrusted_content_new_hosts_and_other_folders_are_asked_about() {
    let world = World::new();
    let p = world.with(CAREFUL, "careful").unwrap();
    let outside = world.path("out/x");
    Taint::record_host(&world.session, "network:send", "api.example.com").unwrap();
    assert_eq!(world.reaches(&p, Scope::NETWORK_SEND, "evil.example.net"), PolicyAnswer::Allow);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, &outside), PolicyAnswer::Allow);
    Taint::record_source(&world.session, "web_extract", &["ignore-previous-instructions".into()])
        .unwrap();
    let exam = world.examine(
        &p,
        hermes_core::Effect {
            scope: Scope::NETWORK_SEND,
            resource: hermes_core::Resource::Host("evil.example.net".into()),
        },
    );
    assert_eq!(exam.answer(), PolicyAnswer::Ask);
    assert!(exam.decisive_finding().unwrap().reason.contains("web_extract"));
    assert_eq!(world.reaches(&p, Scope::NETWORK_SEND, "api.example.com"), PolicyAnswer::Allow);
    assert_eq!(world.reaches(&p, Scope::NETWORK_FETCH, "api.example.com"), PolicyAnswer::Ask);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, &outside), PolicyAnswer::Ask);
    assert_eq!(world.touches(&p, Scope::FILE_WRITE, world.path("ws/x")), PolicyAnswer::Allow);
    let mail = hermes_core::Effect::any(Scope::EMAIL_SEND);
    assert_eq!(world.examine(&p, mail).answer(), PolicyAnswer::Ask);
}
