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
