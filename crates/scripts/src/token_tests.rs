use super::*;

#[test]
fn a_token_is_itself_and_nothing_else() {
    let (one, other) = (Token::new().expect("chance"), Token::new().expect("chance"));
    assert_eq!(one.text().len(), 2 * SIZE);
    assert!(one.is(one.text()));
    assert!(!one.is(other.text()));
    assert!(!one.is(""));
    assert!(!one.is(&one.text()[1..]));
    assert!(!one.is(&format!("{}0", one.text())));
    assert!(!format!("{one:?}").contains(one.text()));
}
