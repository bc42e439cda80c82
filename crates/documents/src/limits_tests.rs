use std::sync::mpsc::channel;

use super::*;

#[test]
fn panics_are_errors() {
    let result: Result<(), _> =
        run_with_timeout(Duration::from_secs(60), |_| panic!("odd {}", "font"));
    assert_eq!(result, Err(DocumentError::Damaged("its parser crashed (odd font)".to_owned())));
}

#[test]
fn what_takes_too_long_is_left_behind_and_counted() {
    let (release, held) = channel::<()>();
    let (tell, shown) = channel();
    let slow = run_with_timeout(Duration::from_millis(1), move |sign| {
        let _ = held.recv();
        let _ = tell.send(sign.is_abandoned());
        Ok(())
    });
    assert_eq!(slow, Err(DocumentError::TooSlow(Duration::from_millis(1))));
    drop(release);
    assert!(shown.recv().expect("the thread goes on"));
}
