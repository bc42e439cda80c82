#![allow(clippy::unwrap_used)]

use rmcp::model::NumberOrString;

use super::*;

fn signs() -> ProgressNotifier {
    let (errands, _) = mpsc::channel(1);
    ProgressNotifier::new("call-1", ProgressToken(NumberOrString::Number(7)), errands)
}

fn report(fraction: Option<f64>, message: &str) -> ProgressUpdate {
    ProgressUpdate { fraction, message: message.to_owned() }
}

#[test]
fn fractions_count_to_a_hundred_and_only_grow() {
    let (signs, start) = (signs(), Instant::now());
    let said = [Some(0.0), Some(0.5), Some(0.4), None, Some(1.0)];
    let shown: Vec<_> = said
        .iter()
        .zip(1..)
        .map(|(fraction, at)| {
            signs
                .notification(&report(*fraction, "on it"), true, start + MIN_NOTIFY_INTERVAL * at)
                .unwrap()
        })
        .collect();
    assert_eq!(shown[1].progress, 50.0);
    assert!(shown.windows(2).all(|pair| pair[0].progress < pair[1].progress), "{shown:?}");
    assert!(shown.iter().all(|sign| sign.total == Some(100.0)), "{shown:?}");
    assert_eq!(shown[4].progress, 100.0);
}

#[test]
fn what_goes_on_past_its_end_has_no_known_end() {
    let (signs, start) = (signs(), Instant::now());
    let shown: Vec<_> = [Some(1.0), Some(1.0), None]
        .iter()
        .zip(1..)
        .map(|(fraction, at)| {
            signs
                .notification(&report(*fraction, "more"), true, start + MIN_NOTIFY_INTERVAL * at)
                .unwrap()
        })
        .collect();
    assert_eq!((shown[0].progress, shown[0].total), (100.0, Some(100.0)));
    assert!(shown.windows(2).all(|pair| pair[0].progress < pair[1].progress), "{shown:?}");
    assert!(shown.iter().skip(1).all(|sign| sign.total.is_none()), "{shown:?}");
}

#[test]
fn signs_without_a_fraction_are_counted() {
    let (signs, start) = (signs(), Instant::now());
    for count in 0..3_u32 {
        let shown = signs
            .notification(&report(None, "still"), true, start + MIN_NOTIFY_INTERVAL * (count + 1))
            .unwrap();
        assert_eq!(shown.progress, f64::from(count));
        assert_eq!(shown.total, None);
    }
}

#[test]
fn too_many_are_left_out_but_not_the_last() {
    let (signs, now) = (signs(), Instant::now());
    assert!(signs.notification(&report(Some(0.1), ""), true, now).is_some());
    assert!(signs.notification(&report(Some(0.2), ""), true, now).is_none());
    assert!(signs.notification(&report(Some(1.0), ""), true, now).is_some());
}

#[test]
fn calls_inside_the_call_do_not_count_as_its_progress() {
    let signs = signs();
    let shown = signs.notification(&report(Some(0.9), "inner"), false, Instant::now()).unwrap();
    assert_eq!((shown.progress, shown.total), (0.0, None));
    assert_eq!(shown.message.as_deref(), Some("inner"));
}

#[test]
fn a_call_that_says_nothing_is_said_to_run_still() {
    let (signs, start) = (signs(), Instant::now());
    assert_eq!(signs.heartbeat(start + HEARTBEAT_INTERVAL).unwrap().progress, 0.0);
    // What it says itself is enough.
    assert!(
        signs
            .notification(&report(Some(0.5), "half"), true, start + HEARTBEAT_INTERVAL * 2)
            .is_some()
    );
    assert!(signs.heartbeat(start + HEARTBEAT_INTERVAL * 2 + HEARTBEAT_INTERVAL / 2).is_none());
    let shown = signs.heartbeat(start + HEARTBEAT_INTERVAL * 3).unwrap();
    assert!(shown.progress > 50.0 && shown.message.is_none(), "{shown:?}");
}
