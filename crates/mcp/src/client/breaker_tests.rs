use super::*;

#[test]
fn three_failures_open_it_and_one_call_is_let_through_later() {
    let (mut breaker, now) = (CircuitBreaker::default(), Instant::now());
    for _ in 0..2 {
        breaker.record_failure(now, now);
        assert!(breaker.admit(now).is_ok());
    }
    breaker.record_failure(now, now);
    assert_eq!(breaker.admit(now + Duration::from_secs(20)), Err((3, Duration::from_secs(40))));
    let later = now + OPEN_DURATION;
    assert!(breaker.admit(later).is_ok());
    assert!(breaker.admit(later).is_err());
    breaker.record_success();
    assert!(breaker.admit(later).is_ok());
}

#[test]
fn calls_that_go_down_together_are_one_failure() {
    let (mut breaker, began) = (CircuitBreaker::default(), Instant::now());
    let later = began + Duration::from_secs(1);
    (0..32).for_each(|_| breaker.record_failure(began, later));
    assert!(breaker.admit(later).is_ok());
    // Not even after it was there again.
    breaker.record_success();
    (0..32).for_each(|_| breaker.record_failure(began, later));
    assert!(breaker.admit(later).is_ok());
    (0..3).for_each(|_| breaker.record_failure(later, later));
    assert!(breaker.admit(later).is_err());
}

#[test]
fn a_server_that_starts_each_time_and_dies_in_each_call_is_left_alone() {
    let (mut breaker, now) = (CircuitBreaker::default(), Instant::now());
    for _ in 0..3 {
        assert!(breaker.admit(now).is_ok());
        breaker.record_failure(now, now);
        breaker.record_start();
    }
    assert_eq!(breaker.admit(now), Err((3, OPEN_DURATION)));
    // One that had only trouble to start is not.
    breaker.record_success();
    (0..3).for_each(|_| breaker.record_start_failure(now, now));
    assert!(breaker.admit(now).is_err());
    breaker.record_start();
    assert!(breaker.admit(now).is_ok());
}
