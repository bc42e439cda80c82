use super::*;

#[test]
fn a_verb_has_many_names() {
    assert!(is_same_verb("npm", "run", "run-script"));
    assert!(is_same_verb("npm", "install", "i"));
    assert!(is_same_verb("npm", "add", "install"));
    assert!(is_same_verb("cargo", "run", "r"));
    assert!(!is_same_verb("npm", "run", "test"));
    assert!(!is_same_verb("cargo", "run", "run-script"));
    assert!(!is_same_verb("git", "co", "checkout"));
}
