use super::*;

#[test]
fn a_token_is_itself_and_nothing_else() {
    let (one, other) = (RunToken::new().expect("chance"), RunToken::new().expect("chance"));
    assert_eq!(one.as_str().len(), 2 * TOKEN_BYTES);
    assert!(one.matches(one.as_str()));
    assert!(!one.matches(other.as_str()));
    assert!(!one.matches(""));
    assert!(!one.matches(&one.as_str()[1..]));
    assert!(!one.matches(&format!("{}0", one.as_str())));
    assert!(!format!("{one:?}").contains(one.as_str()));
}
