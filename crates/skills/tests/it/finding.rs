//! Which skills are found, which of them are used, and what is reported about the others.

use std::fs;
use std::sync::Arc;

use hermes_skills::{SkillError, SkillOrigin};
use serde_json::json;

use crate::{World, told};

#[test]
fn skills_are_found_in_all_places_and_the_first_one_counts() {
    let world = World::new().with(json!({ "external_dirs": "../more" }));
    world.skill("home/skills/plain");
    world.skill("home/skills/mlops/axolotl");
    world.skill("home/skills/a/b/c/deep");
    world.skill("more/plain");
    world.skill("more/extra");
    world.skill("work/.hermes/skills/axolotl");
    world.skill("work/.claude/skills/other");
    world.skill("work/deep/.agents/skills/near");
    // Outside of the project.
    world.skill(".hermes/skills/stranger");
    let catalogue = world.look();
    assert_eq!(
        told(&catalogue),
        [
            "plain home ready",
            "deep home ready",
            "axolotl home ready",
            "extra external ready",
            "plain external shadowed",
            "near project ready",
            "axolotl project shadowed",
            "other project ready",
        ]
    );
    let axolotl = catalogue.find("Axolotl").unwrap();
    assert_eq!((axolotl.category.as_deref(), axolotl.origin), (Some("mlops"), SkillOrigin::Home));
    let hidden = catalogue.all().iter().find(|s| s.unusable_reason().is_some()).unwrap();
    assert!(
        hidden.unusable_reason().unwrap().contains("home/skills/plain comes first"),
        "{hidden:?}"
    );
    for name in ["mlops/axolotl", "mlops:axolotl", "/axolotl"] {
        assert_eq!(catalogue.find(name).unwrap().qualified_name, "axolotl", "{name}");
    }
}

#[test]
fn of_two_with_one_name_none_is_guessed() {
    let world = World::new();
    world.skill("home/skills/a/twin");
    world.skill("home/skills/b/twin");
    world.skill("work/.hermes/skills/twin");
    let catalogue = world.look();
    assert_eq!(
        told(&catalogue),
        ["a/twin home ready", "b/twin home ready", "twin project shadowed"]
    );
    let Err(SkillError::Ambiguous { matches, .. }) = catalogue.find("twin") else { panic!() };
    assert_eq!(matches, ["a/twin", "b/twin"]);
    assert_eq!(catalogue.find("b/twin").unwrap().category.as_deref(), Some("b"));
    let (skill, path) = catalogue.resolve_uri("skill://b/twin/references/x%20y.md").unwrap();
    assert_eq!((&*skill.qualified_name, &*path), ("b/twin", "references/x y.md"));
    assert!(catalogue.resolve_uri("skill://twin/SKILL.md").is_none());
}

#[test]
fn a_broken_skill_is_told_with_its_line_and_disturbs_no_other() {
    let world = World::new();
    world.skill("home/skills/fine");
    for (name, text) in [
        ("unclosed", &b"---\nname: unclosed\n"[..]),
        ("bare", b"# No fields\n"),
        ("yaml", b"---\ntags: [a\n---\nbody\n"),
        ("empty", b"---\nname: empty\ndescription: d\n---\n"),
        ("latin", b"---\nname: latin\ndescription: d\n---\n\nna\xefve\n"),
        ("binary", b"---\nname: binary\ndescription: d\n---\n\n\0\0\n"),
    ] {
        world.file(&format!("home/skills/{name}/SKILL.md"), text);
    }
    world.file("home/skills/huge/SKILL.md", vec![b'x'; 500_000]);
    fs::create_dir_all(world.path("home/skills/folder/SKILL.md")).unwrap();
    let catalogue = world.look();
    let why = |name: &str| catalogue.find(name).unwrap().unusable_reason().unwrap();
    for (name, part) in [
        ("unclosed", "line 1: the closing `---`"),
        ("bare", "line 1: it must begin"),
        ("yaml", "line 2: unclosed bracket"),
        ("empty", "line 4: there are no instructions"),
        ("latin", "line 6: it is not UTF-8"),
        ("binary", "line 6: it is not a text file"),
        ("huge", "more than 100000 characters"),
    ] {
        assert!(why(name).contains(part), "{name}: {}", why(name));
        assert!(matches!(catalogue.find_ready(name), Err(SkillError::Unusable { .. })), "{name}");
    }
    assert_eq!(catalogue.ready().count(), 1);
    assert!(catalogue.find("folder").is_err(), "a folder of that name is no file");
}

#[test]
fn a_project_does_not_take_the_name_of_a_broken_skill() {
    let world = World::new();
    world.file("home/skills/deploy/SKILL.md", "broken");
    world.skill("work/.hermes/skills/deploy");
    assert_eq!(told(&world.look()), ["deploy home broken", "deploy project shadowed"]);
}

#[test]
fn settings_and_systems_switch_skills_off() {
    let world = World::new().with(json!({ "disabled": ["Off"] }));
    world.skill("home/skills/off");
    let with = |platforms: &str| {
        let text = format!("---\nname: sys\ndescription: d\nplatforms: {platforms}\n---\nDo.\n");
        world.file("home/skills/sys/SKILL.md", text);
        world.look().find("sys").unwrap().status.name()
    };
    let (here, other) = match cfg!(target_os = "macos") {
        true => ("darwin", "[linux, windows]"),
        false => ("Linux", "[macos, windows]"),
    };
    assert_eq!((with(here), with(other)), ("ready", "unsupported"));
    assert_eq!(world.look().find("off").unwrap().status.name(), "disabled");
}

#[test]
fn some_folders_hold_no_skills() {
    let world = World::new();
    world.skill("home/skills/real");
    world.skill("home/skills/real/nested");
    world.skill("home/skills/real/references/example");
    for name in [".hub/quarantine", ".archive", "node_modules", ".git"] {
        world.skill(&format!("home/skills/{name}/not-one"));
    }
    world.file("home/skills/DESCRIPTION.md", "x");
    let catalogue = world.look();
    assert_eq!(told(&catalogue), ["real home ready", "nested home ready"]);
    assert_eq!(catalogue.find("real").unwrap().files, ["references/example/SKILL.md"]);
}

#[test]
fn links_are_followed_at_home_and_not_out_of_a_project() {
    let world = World::new();
    world.skill("elsewhere/mine");
    world.skill("work/shared/inner");
    world.link("home/skills/mine", world.path("elsewhere/mine"));
    world.link("home/skills/loop", world.path("home/skills"));
    world.link("work/.hermes/skills/out", world.path("elsewhere"));
    world.link("work/.hermes/skills/inner", "../../shared/inner");
    world.link("work/.claude/skills", "../.hermes/skills");
    world.link("work/.agents/skills", world.path("elsewhere"));
    let catalogue = world.look();
    assert_eq!(told(&catalogue), ["mine home ready", "inner project ready"]);
    let notes: Vec<String> = catalogue.notes().iter().map(ToString::to_string).collect();
    assert_eq!(notes.len(), 3, "{notes:#?}");
    assert!(notes.iter().all(|note| note.contains("leads out of the project")), "{notes:#?}");
}

#[test]
fn the_same_folder_is_not_there_twice() {
    // HERMES_HOME is inside the working directory.
    let world = World::new();
    world.skill("work/.hermes/skills/once");
    world.link("home", world.path("work/.hermes"));
    assert_eq!(told(&world.look()), ["once home ready"]);
}

#[test]
fn a_walk_is_bounded() {
    let world = World::new();
    let deep = (0..40).map(|n| n.to_string()).collect::<Vec<_>>().join("/");
    world.skill(&format!("home/skills/{deep}/lost"));
    world.skill("home/skills/found");
    assert_eq!(told(&world.look()), ["found home ready"]);
}

#[test]
fn what_has_not_changed_is_not_read_again() {
    let world = World::new();
    world.skill("home/skills/one");
    let shelf = world.shelf();
    let first = shelf.refresh();
    assert!(Arc::ptr_eq(&first, &shelf.refresh()) && Arc::ptr_eq(&first, &shelf.recent()));
    world.file("home/skills/one/references/new.md", "x");
    let second = shelf.refresh();
    assert_eq!(second.find("one").unwrap().files, ["references/new.md"]);
    world.file("home/skills/one/SKILL.md", "---\nname: one\ndescription: New.\n---\nDo.\n");
    assert_eq!(shelf.refresh().find("one").unwrap().manifest.description, "New.");
    fs::remove_dir_all(world.path("home/skills")).unwrap();
    assert!(shelf.refresh().all().is_empty());
}

#[test]
fn a_name_that_is_nearly_right_is_suggested() {
    let world = World::new();
    world.skill("home/skills/deploy-k8s");
    let error = world.look().find_ready("deploy").unwrap_err();
    assert_eq!(error.hint().as_deref(), Some("Did you mean deploy-k8s?"));
    assert_eq!(world.look().find_ready("zzz").unwrap_err().hint(), None);
}
