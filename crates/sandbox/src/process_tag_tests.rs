use super::{NO_LIMIT, ProcessTag, tag_limits};

#[test]
fn a_limit_carries_the_stamp_of_its_job() {
    let (current, most) = tag_limits("proc_1", (NO_LIMIT, NO_LIMIT)).unwrap();
    assert_eq!(ProcessTag::from_limit(current), Some(ProcessTag::for_job("proc_1")));
    assert_eq!(current, most);
    assert_ne!(ProcessTag::for_job("proc_1"), ProcessTag::for_job("proc_2"));
}

#[test]
fn a_limit_that_somebody_has_set_is_no_stamp() {
    for limit in [0, 1, 1024, u64::from(u32::MAX), i64::MAX as u64, NO_LIMIT] {
        assert_eq!(ProcessTag::from_limit(limit), None, "{limit}");
    }
    assert_eq!(tag_limits("proc_1", (100, 100)), None, "it cannot be raised");
}

#[test]
fn a_job_within_jobs_lowers_the_limit_and_keeps_the_outermost() {
    let outer = tag_limits("outer", (NO_LIMIT, NO_LIMIT)).unwrap();
    let mut last = outer;
    for depth in 0..250 {
        let next = tag_limits(&format!("job {depth}"), last).unwrap();
        assert!(next.0 < last.0, "{depth}");
        assert_eq!(
            ProcessTag::from_limit(next.0),
            Some(ProcessTag::for_job(&format!("job {depth}")))
        );
        assert_eq!(next.1, outer.1);
        last = next;
    }
}
