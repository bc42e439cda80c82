use super::*;

#[test]
fn bits_that_were_meant_for_another_owner_are_not_given() {
    let unlike = |owner, group, list: bool| LostAttributes {
        owner,
        group,
        xattrs: list.then(|| ACL_XATTR.to_owned()).into_iter().collect(),
    };
    assert_eq!(unlike(false, false, false).safe_mode(0o6764), 0o6764);
    assert_eq!(unlike(true, false, false).safe_mode(0o6764), 0o2764);
    assert_eq!(unlike(false, true, false).safe_mode(0o6764), 0o4744);
    assert_eq!(unlike(false, false, true).safe_mode(0o660), 0o600);
    assert_eq!(unlike(false, false, true).safe_mode(0o675), 0o655);
    assert_eq!(unlike(true, true, true).into_names(), ["owner", "group", ACL_XATTR]);
}
