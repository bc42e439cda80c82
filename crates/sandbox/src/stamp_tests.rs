use super::{Stamp, UNLIMITED, limits};

#[test]
fn a_limit_carries_the_stamp_of_its_job() {
    let (current, most) = limits("proc_1", (UNLIMITED, UNLIMITED)).unwrap();
    assert_eq!(Stamp::read(current), Some(Stamp::of("proc_1")));
    assert_eq!(current, most);
    assert_ne!(Stamp::of("proc_1"), Stamp::of("proc_2"));
}

#[test]
fn a_limit_that_somebody_has_set_is_no_stamp() {
    for limit in [0, 1, 1024, u64::from(u32::MAX), i64::MAX as u64, UNLIMITED] {
        assert_eq!(Stamp::read(limit), None, "{limit}");
    }
    assert_eq!(limits("proc_1", (100, 100)), None, "it cannot be raised");
}

#[test]
fn a_job_within_jobs_lowers_the_limit_and_keeps_the_outermost() {
    let outer = limits("outer", (UNLIMITED, UNLIMITED)).unwrap();
    let mut last = outer;
    for depth in 0..250 {
        let next = limits(&format!("job {depth}"), last).unwrap();
        assert!(next.0 < last.0, "{depth}");
        assert_eq!(Stamp::read(next.0), Some(Stamp::of(&format!("job {depth}"))));
        assert_eq!(next.1, outer.1);
        last = next;
    }
}
