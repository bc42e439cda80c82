use super::*;

#[test]
fn bits_that_were_meant_for_another_owner_are_not_given() {
    let lost = |owner, group, list: bool| Lost {
        owner,
        group,
        attributes: list.then(|| ACCESS_LIST.to_owned()).into_iter().collect(),
    };
    assert_eq!(lost(false, false, false).narrow(0o6764), 0o6764);
    assert_eq!(lost(true, false, false).narrow(0o6764), 0o2764);
    assert_eq!(lost(false, true, false).narrow(0o6764), 0o4744);
    assert_eq!(lost(false, false, true).narrow(0o660), 0o600);
    assert_eq!(lost(false, false, true).narrow(0o675), 0o655);
    assert_eq!(lost(true, true, true).told(), ["owner", "group", ACCESS_LIST]);
}
