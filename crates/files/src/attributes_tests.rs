use super::*;

#[test]
fn bits_that_were_meant_for_another_owner_are_not_given() {
    let unlike = |owner, group, list: bool| Unlike {
        owner,
        group,
        attributes: list.then(|| ACCESS_LIST.to_owned()).into_iter().collect(),
    };
    assert_eq!(unlike(false, false, false).narrow(0o6764), 0o6764);
    assert_eq!(unlike(true, false, false).narrow(0o6764), 0o2764);
    assert_eq!(unlike(false, true, false).narrow(0o6764), 0o4744);
    assert_eq!(unlike(false, false, true).narrow(0o660), 0o600);
    assert_eq!(unlike(false, false, true).narrow(0o675), 0o655);
    assert_eq!(unlike(true, true, true).told(), ["owner", "group", ACCESS_LIST]);
}
