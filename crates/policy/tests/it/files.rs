//! What child processes are held to, from the same rules.

use std::path::PathBuf;

use hermes_core::{Confinement, Effect, NetworkMode, Resource, Scope};
use hermes_policy::PermissionPolicy;

use crate::World;

fn confined(world: &World, permissions: &PermissionPolicy, command: &str) -> Option<Confinement> {
    let resource = Resource::Command(command.to_owned());
    let effects = [Effect { scope: Scope::TERMINAL_EXECUTE, resource }];
    permissions.consider(&world.proposal(&effects, &world.at())).1
}

#[test]
fn a_command_may_write_where_its_profile_may() {
    let world = World::new();
    let p = world.builtin("default");
    std::fs::create_dir_all(world.path("ws/.git/hooks")).unwrap();
    world.put("home/.ssh/id_rsa", "x");
    world.put("ws/.env", "x");
    let confinement = confined(&world, &p, "make").unwrap();
    assert_eq!(confinement.read, [PathBuf::from("/")]);
    assert!(
        confinement.write.contains(&world.path("ws")) && confinement.write.contains(&"/tmp".into())
    );
    assert!(!confinement.write.iter().any(|tree| world.path("home").starts_with(tree)));
    assert!(
        confinement.read_only.contains(&world.path("ws/.git/hooks")),
        "{:?}",
        confinement.read_only
    );
    assert!(confinement.hidden.contains(&world.path("home/.ssh")));
    assert!(confinement.hidden.contains(&world.path("ws/.env")));
    assert_eq!(confinement.network, NetworkMode::Isolated);
    let asked = confined(&world, &p, "touch ../out/x").unwrap();
    assert!(asked.write.contains(&world.path("out")), "{:?}", asked.write);
    let research = "profiles: {r: {allow: [terminal:execute, file:read]}}";
    let p = world.with(research, "r").unwrap();
    assert!(confined(&world, &p, "ls").unwrap().write.is_empty());
    let narrow = "profiles: {n: {allow: ['*'], restrictions: {file:read: {allowed_paths: ['${workspace}/**']}}}}";
    let p = world.with(narrow, "n").unwrap();
    let confinement = confined(&world, &p, "ls").unwrap();
    assert!(
        confinement.read.contains(&world.path("ws")) && confinement.read.contains(&"/usr".into())
    );
    assert!(
        !confinement.read.contains(&"/".into()) && !confinement.read.contains(&world.path("home"))
    );
}

#[test]
fn what_starts_no_process_is_not_confined() {
    let world = World::new();
    let p = world.builtin("default");
    let effects = [Effect::path(Scope::FILE_READ, world.path("ws/x"))];
    assert!(p.consider(&world.proposal(&effects, &world.at())).1.is_none());
}
