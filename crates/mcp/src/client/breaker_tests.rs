use super::*;

#[test]
fn three_failures_open_it_and_one_call_is_let_through_later() {
    let (mut breaker, now) = (Breaker::default(), Instant::now());
    for _ in 0..2 {
        breaker.fail(now, now);
        assert!(breaker.admit(now).is_ok());
    }
    breaker.fail(now, now);
    assert_eq!(breaker.admit(now + Duration::from_secs(20)), Err((3, Duration::from_secs(40))));
    let later = now + PAUSE;
    assert!(breaker.admit(later).is_ok());
    assert!(breaker.admit(later).is_err());
    breaker.succeed();
    assert!(breaker.admit(later).is_ok());
}

#[test]
fn calls_that_go_down_together_are_one_failure() {
    let (mut breaker, began) = (Breaker::default(), Instant::now());
    let later = began + Duration::from_secs(1);
    (0..32).for_each(|_| breaker.fail(began, later));
    assert!(breaker.admit(later).is_ok());
    // Not even after it was there again.
    breaker.succeed();
    (0..32).for_each(|_| breaker.fail(began, later));
    assert!(breaker.admit(later).is_ok());
    (0..3).for_each(|_| breaker.fail(later, later));
    assert!(breaker.admit(later).is_err());
}

#[test]
fn a_server_that_starts_each_time_and_dies_in_each_call_is_left_alone() {
    let (mut breaker, now) = (Breaker::default(), Instant::now());
    for _ in 0..3 {
        assert!(breaker.admit(now).is_ok());
        breaker.fail(now, now);
        breaker.started();
    }
    assert_eq!(breaker.admit(now), Err((3, PAUSE)));
    // One that had only trouble to start is not.
    breaker.succeed();
    (0..3).for_each(|_| breaker.fail_to_start(now, now));
    assert!(breaker.admit(now).is_err());
    breaker.started();
    assert!(breaker.admit(now).is_ok());
}
