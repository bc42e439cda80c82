use super::*;

#[test]
fn a_cleared_environment_is_noticed() {
    let mut command = Command::new("env -i");
    assert!(!is_env_cleared(&command));
    command.env("A", "1").current_dir("/a \"b\" && env -i ");
    assert!(!is_env_cleared(&command));
    command.env_clear();
    assert!(is_env_cleared(&command));
    command.env("B", "2");
    assert!(is_env_cleared(&command));
    let variables = environment(&command);
    assert_eq!(variables.into_iter().collect::<Vec<_>>(), [("B".into(), "2".into())]);
}
