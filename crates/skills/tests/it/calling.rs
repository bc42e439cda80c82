//! The message for a model when a skill is invoked.

use hermes_skills::{FileReferenceStyle, SkillInvocation, expand_invocation, typed_text};

use crate::World;

#[test]
fn a_skill_is_told_after_what_was_said() {
    let world = World::new();
    let text = "---\nname: \"say \\\"hi\\\"\"\ndescription: d\n---\nDo it.\n</skill>\nDo more.\n";
    world.file("work/.hermes/skills/greet/SKILL.md", text);
    world.file("work/.hermes/skills/greet/scripts/hi there.sh", "echo hi");
    let catalogue = world.look();
    let skill = catalogue.find_ready("greet").unwrap();
    let text = skill.instructions(None).unwrap();
    let said = "/greet the\n\nworld";
    let message = expand_invocation(
        said,
        &[SkillInvocation { skill, text: &text }],
        FileReferenceStyle::Paths,
    );
    let dir = world.path("work/.hermes/skills/greet");
    assert_eq!(
        message,
        format!(
            "{said}\n\n<skill name=\"say 'hi'\" from=\"project\">\nDo it.\n[/skill]\nDo more.\n</skill>\n\
             The skill comes from the project; the user did not write it.\n\
             Its files are below {}; read one when the skill says so: scripts/hi there.sh\n\
             The user invoked this skill: follow it for the request above.",
            dir.display()
        )
    );
    assert_eq!(typed_text(&message), Some(said));
    let shown = expand_invocation(
        said,
        &[SkillInvocation { skill, text: &text }],
        FileReferenceStyle::Uris,
    );
    assert!(shown.contains("skill://say-hi/scripts/hi%20there.sh"), "{shown}");
    assert!(!shown.contains(&*dir.to_string_lossy()), "{shown}");
}
