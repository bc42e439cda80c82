use std::sync::atomic::Ordering;

use hermes_testkit::probe::ProbeTool;

use super::*;
use crate::registry::ToolOwner;

fn checks() -> AvailabilityCache {
    AvailabilityCache::new(Arc::new(|_| None))
}

fn entry(probe: &Arc<ProbeTool>) -> Arc<ToolEntry> {
    Arc::new(ToolEntry::new(probe.clone(), ToolOwner::builtin()))
}

fn missing() -> Availability {
    Availability::missing("gone", "bring it back")
}

#[tokio::test]
async fn answers_are_kept_for_a_while() {
    let (probe, checks, start) = (Arc::new(ProbeTool::new("p")), checks(), Instant::now());
    let entries = [entry(&probe)];
    for seconds in [0, 10, 29] {
        checks.availabilities_at(&entries, start + Duration::from_secs(seconds)).await;
    }
    assert_eq!(probe.checks.load(Ordering::SeqCst), 1);
    checks.availabilities_at(&entries, start + AVAILABILITY_TTL).await;
    assert_eq!(probe.checks.load(Ordering::SeqCst), 2);
    checks.clear();
    checks.availabilities_at(&entries, start + AVAILABILITY_TTL).await;
    assert_eq!(probe.checks.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_tool_that_worked_a_moment_ago_is_spared_one_failure() {
    let (probe, checks, start) = (Arc::new(ProbeTool::new("p")), checks(), Instant::now());
    let entries = [entry(&probe)];
    assert!(checks.availabilities_at(&entries, start).await.0[0].is_ready());
    probe.set_availability(missing());
    let later = start + Duration::from_secs(40);
    assert!(checks.availabilities_at(&entries, later).await.0[0].is_ready(), "within the grace");
    assert!(checks.availabilities_at(&entries, later).await.0[0].is_ready());
    assert_eq!(probe.checks.load(Ordering::SeqCst), 2, "not probed over and over");
    assert!(
        checks.availabilities_at(&entries, later + SUPPRESSED_FAILURE_TTL).await.0[0].is_ready()
    );
    assert_eq!(probe.checks.load(Ordering::SeqCst), 3, "but soon again");
    let past = start + FAILURE_GRACE;
    assert!(!checks.availabilities_at(&entries, past).await.0[0].is_ready());
    probe.set_availability(Availability::Ready);
    assert!(
        !checks.availabilities_at(&entries, past).await.0[0].is_ready(),
        "a real failure is kept"
    );
    assert!(checks.availabilities_at(&entries, past + AVAILABILITY_TTL).await.0[0].is_ready());
}

#[tokio::test]
async fn a_new_registration_is_a_new_question() {
    let (probe, checks, start) = (Arc::new(ProbeTool::new("p")), checks(), Instant::now());
    probe.set_availability(missing());
    assert!(!checks.availabilities_at(&[entry(&probe)], start).await.0[0].is_ready());
    probe.set_availability(Availability::Ready);
    assert!(checks.availabilities_at(&[entry(&probe)], start).await.0[0].is_ready());
}

#[tokio::test]
async fn a_required_variable_must_be_set_to_something() {
    let probe = Arc::new(ProbeTool::new("p").with_spec(|s| s.requires_env("A_KEY")));
    for (value, ready) in [(None, false), (Some(""), false), (Some("x"), true)] {
        let checks = AvailabilityCache::new(Arc::new(move |_| value.map(str::to_owned)));
        assert_eq!(checks.availability(&entry(&probe)).await.is_ready(), ready, "{value:?}");
    }
}

#[tokio::test]
async fn checks_run_side_by_side() {
    let probes: Vec<Arc<ProbeTool>> =
        (0..50).map(|i| Arc::new(ProbeTool::new(&format!("p{i}")))).collect();
    probes[7].set_availability(missing());
    let entries: Vec<_> = probes.iter().map(entry).collect();
    let (states, _) = checks().availabilities(&entries).await;
    let broken: Vec<usize> = (0..50).filter(|i| !states[*i].is_ready()).collect();
    assert_eq!(broken, [7], "answers stay with their tools");
}
