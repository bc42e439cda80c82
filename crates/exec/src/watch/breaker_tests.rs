use std::time::{Duration, Instant};

use super::{BreakerLimits, NoticeAdmission, NoticeBreaker};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn fifteen_in_ten_seconds_pass() {
    let start = Instant::now();
    let mut breaker = NoticeBreaker::default();
    for round in 0..10 {
        for _ in 0..15 {
            assert_eq!(breaker.admit("a", start + seconds(10 * round)), NoticeAdmission::Deliver);
        }
    }
    assert_eq!(breaker.silent_until(), None);
    assert_eq!(breaker.release(start + seconds(1000)), None);
}

#[test]
fn one_more_brings_silence_and_one_summary() {
    let start = Instant::now();
    let mut breaker = NoticeBreaker::default();
    for _ in 0..15 {
        assert_eq!(breaker.admit("a", start), NoticeAdmission::Deliver);
    }
    let late = start + seconds(9);
    assert_eq!(breaker.admit("a", late), NoticeAdmission::Tripped);
    assert_eq!(breaker.admit("b", late + seconds(20)), NoticeAdmission::Silent);
    assert_eq!(breaker.admit("a", late + seconds(29)), NoticeAdmission::Silent);
    assert_eq!(breaker.silent_until(), Some(late + seconds(30)));
    assert_eq!(breaker.release(late + seconds(29)), None);
    let summary = breaker.release(late + seconds(30)).unwrap();
    assert_eq!(summary.dropped, 3);
    assert_eq!(summary.jobs.into_iter().collect::<Vec<_>>(), [("a".into(), 2), ("b".into(), 1)]);
    assert_eq!(breaker.release(late + seconds(31)), None);
    for _ in 0..15 {
        assert_eq!(breaker.admit("a", late + seconds(31)), NoticeAdmission::Deliver);
    }
    assert_eq!(breaker.admit("a", late + seconds(31)), NoticeAdmission::Tripped);
}

#[test]
fn the_summary_is_bounded() {
    let start = Instant::now();
    let mut breaker =
        NoticeBreaker::new(BreakerLimits { max_notices: 0, ..BreakerLimits::default() });
    for job in 0..5000 {
        breaker.admit(&job.to_string(), start);
    }
    let summary = breaker.release(start + seconds(30)).unwrap();
    assert_eq!(summary.dropped, 5000);
    assert_eq!(summary.jobs.len(), 100);
}

#[test]
fn a_clock_that_stands_still_or_goes_back_is_no_harm() {
    let start = Instant::now() + seconds(100);
    let mut breaker = NoticeBreaker::default();
    for round in 0..15 {
        assert_eq!(breaker.admit("a", start - seconds(round)), NoticeAdmission::Deliver);
    }
    assert_eq!(breaker.admit("a", start - seconds(50)), NoticeAdmission::Tripped);
}
