//! What always holds.

use hermes_core::{Effect, Resource, Scope};
use hermes_policy::PolicyAnswer;
use proptest::prelude::*;

use crate::World;

/// Pieces that commands are made of, good and bad.
fn command() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("rm -rf /"),
        Just("rm"),
        Just("-rf"),
        Just("/"),
        Just("~"),
        Just("$HOME"),
        Just("ls"),
        Just("git push"),
        Just("cat .env"),
        Just("cat ~/.ssh/id_rsa"),
        Just("echo hi"),
        Just("&&"),
        Just(";"),
        Just("|"),
        Just("$("),
        Just(")"),
        Just("`"),
        Just("'"),
        Just("\""),
        Just("bash -c"),
        Just("sudo"),
        Just("env"),
        Just("xargs"),
        Just("> /etc/passwd"),
        Just("<<EOF\n"),
        Just("EOF\n"),
        Just("reboot"),
        Just("mkfs.ext4 /dev/sda"),
        Just("{"),
        Just("}"),
        Just("if"),
        Just("then"),
        Just("fi"),
        Just("\\\n"),
        Just("${IFS}"),
        Just("curl x.com"),
        Just("sh"),
        Just("x=rm"),
        Just("$x"),
    ];
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.join(" "))
}

/// No file is written for what it finds.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// However much is allowed, what is denied stays denied.
#[test]
fn allowing_more_never_lifts_a_denial() {
    use hermes_core::Policy as _;
    // Rules are slow to read, so what is the same in every case is read once,
    // and there are fewer cases.
    let fewer = ProptestConfig { cases: config().cases.div_ceil(4), ..config() };
    let narrow = World::new();
    let base = narrow.with("profiles: {p: {allow: ['*'], deny: [env:write]}}", "p").unwrap();
    proptest!(fewer, |(command in command(), extra in command())| {
        let world = World::new();
        let rule = serde_json::Value::from(extra.clone());
        let yaml = format!(
            "profiles: {{p: {{allow: ['*', {{scope: terminal:execute, commands: [{rule}]}}, {{scope: file:*, paths: ['/**']}}], \
             deny: [env:write], restrictions: {{terminal:execute: {{allowed_commands: ['*', {rule}]}}}}}}}}"
        );
        let Ok(more) = world.with(&yaml, "p") else { return Ok(()) };
        let before = narrow.judged(&base, &command);
        let after = world.judged(&more, &command);
        prop_assert!(before != PolicyAnswer::Deny || after == PolicyAnswer::Deny, "{command}");
        let resource = Resource::Command(command.clone());
        let effects = [Effect { scope: Scope::TERMINAL_EXECUTE, resource }];
        let at = world.at();
        more.remember_approval(&world.proposal(&effects, &at), hermes_core::ApprovalScope::Always).unwrap();
        prop_assert!(before != PolicyAnswer::Deny || world.judged(&more, &command) == PolicyAnswer::Deny);
    });
}

/// A part that is denied is denied in company.
#[test]
fn company_does_not_help() {
    let world = World::new();
    let p = world.builtin("default");
    proptest!(config(), |(command in command())| {
        for bad in ["rm -rf /", "cat ~/.ssh/id_rsa", "reboot"] {
            let together = format!("{bad}\n{command}");
            prop_assert_ne!(world.judged(&p, &together), PolicyAnswer::Allow, "{}", together);
        }
    });
}

#[test]
fn any_text_is_judged() {
    let world = World::new();
    let p = world.builtin("default");
    proptest!(config(), |(bytes in prop::collection::vec(any::<u8>(), 0..300))| {
        world.command(&p, &String::from_utf8_lossy(&bytes));
    });
}
