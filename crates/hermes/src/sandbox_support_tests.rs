use super::*;

fn explain(settings: &[(&str, u64)], is_container: bool) -> NamespaceObstacle {
    let setting = |name: &str| settings.iter().find(|(it, _)| *it == name).map(|(_, value)| *value);
    let program = Path::new("/opt/my hermes/hermes");
    let error = "Operation not permitted (os error 1)";
    NamespaceObstacle::explain(&NamespaceEvidence {
        setting: &setting,
        is_container,
        program,
        error,
    })
}

#[test]
fn namespaces_that_are_switched_off_are_no_lack_of_space() {
    let found = explain(&[("user/max_user_namespaces", 0)], false);
    assert_eq!(found.reason, "user namespaces are switched off (user.max_user_namespaces = 0)");
    assert!(found.remedies[0].contains("user.max_user_namespaces = 15000"), "{found:?}");
    let found = explain(&[("kernel/unprivileged_userns_clone", 0)], false);
    assert!(found.remedies[0].contains("kernel.unprivileged_userns_clone = 1"), "{found:?}");
}

#[test]
fn a_restriction_by_apparmor_has_a_profile_for_this_program_alone() {
    let settings =
        [("user/max_user_namespaces", 9), ("kernel/apparmor_restrict_unprivileged_userns", 1)];
    let found = explain(&settings, true);
    assert!(found.reason.starts_with("AppArmor"), "{found:?}");
    assert!(found.remedies[0].contains("\"/opt/my hermes/hermes\""), "{found:?}");
    assert!(found.remedies[1].contains("apparmor_restrict_unprivileged_userns = 0"), "{found:?}");
}

#[test]
fn a_container_and_an_unknown_cause_are_told_apart() {
    assert!(explain(&[], true).remedies[0].starts_with("docker run "));
    let unknown = explain(&[("user/max_user_namespaces", 9)], false);
    assert_eq!(unknown.detail, "Operation not permitted (os error 1)");
    assert_eq!(unknown.remedies.len(), 4, "{unknown:?}");
}
