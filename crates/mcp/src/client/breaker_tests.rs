use super::*;

#[test]
fn three_failures_open_it_and_one_call_is_let_through_later() {
    let (mut breaker, now) = (Breaker::default(), Instant::now());
    for _ in 0..2 {
        breaker.fail(now);
        assert!(breaker.admit(now).is_ok());
    }
    breaker.fail(now);
    assert_eq!(breaker.admit(now + Duration::from_secs(20)), Err((3, Duration::from_secs(40))));
    let later = now + PAUSE;
    assert!(breaker.admit(later).is_ok());
    assert!(breaker.admit(later).is_err());
    breaker.succeed();
    assert!(breaker.admit(later).is_ok());
}
