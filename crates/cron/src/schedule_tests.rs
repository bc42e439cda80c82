use super::*;
use jiff::Zoned;
use proptest::prelude::*;

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).expect("a time zone")
}

fn at(text: &str) -> Timestamp {
    text.parse::<Zoned>().map_or_else(|_| text.parse().expect("a time"), |z| z.timestamp())
}

fn parse(text: &str) -> Result<JobSchedule, CronError> {
    JobSchedule::parse(text, None, &zone("Europe/Berlin"), at("2026-11-16T12:00:00Z"))
}

/// The slots after a time, as they read there.
fn slots(expr: &str, name: &str, from: &str, count: usize) -> Vec<String> {
    let schedule =
        JobSchedule::parse(expr, Some(name), &TimeZone::UTC, at(from)).expect("a schedule");
    let mut after = at(from);
    let mut shown = Vec::new();
    for _ in 0..count {
        after = schedule.next(after, after, &TimeZone::UTC).expect("valid").expect("a slot");
        shown.push(after.to_zoned(zone(name)).strftime("%m-%d %H:%M %:z").to_string());
    }
    shown
}

#[test]
fn what_people_write_is_understood() {
    for (text, shown) in [
        ("30m", "once in 30m"),
        ("in 90 minutes", "once in 1h30m"),
        ("1h 30m", "once in 1h30m"),
        ("1w", "once in 7d"),
        ("every 2h", "every 2h"),
        ("every 1 day", "every 1d"),
        ("Every hour", "every 1h"),
        ("0 9 * * MON", "0 9 * * MON"),
        ("0 0 9 * * *", "0 0 9 * * *"),
        ("@daily", "@daily"),
        ("0 9 L * *", "0 9 L * *"),
        ("0 9 * * FRI#L", "0 9 * * FRI#L"),
        ("CRON_TZ=Asia/Tokyo 0 9 * * *", "0 9 * * * (Asia/Tokyo)"),
        ("2030-02-03T14:00:00", "once at 2030-02-03 14:00"),
        ("2030-02-03", "once at 2030-02-03 00:00"),
        ("2030-03-31T02:30:00", "once at 2030-03-31 03:00"),
        ("2030-02-03T14:00:00-05:00", "once at 2030-02-03 20:00"),
        ("2030-02-03T14:00[Asia/Tokyo]", "once at 2030-02-03 06:00"),
    ] {
        assert_eq!(parse(text).expect(text).display(), shown, "{text}");
    }
    for wrong in [
        "",
        "every",
        "every 90s",
        "every 0m",
        "every moon",
        "tomorrow",
        "30 9 *",
        "61 * * * *",
        "0 0 30 2 *",
        "@never",
        "2020-01-01",
        "99999999999999999999d",
        "0 9 * * MON ; rm",
        "12",
    ] {
        let error = parse(wrong).expect_err(wrong).to_string();
        assert!(error.contains("Write '30m'"), "{wrong}: {error}");
    }
    let nowhere =
        JobSchedule::parse("@daily", Some("Mars/Base"), &TimeZone::UTC, Timestamp::UNIX_EPOCH);
    assert!(nowhere.expect_err("no zone").to_string().contains("Mars/Base"));
}

#[test]
fn a_time_that_has_just_passed_is_now() {
    assert!(parse("2026-11-16T11:58:30Z").is_ok());
    assert!(parse("2026-11-16T11:57:00Z").is_err());
}

#[test]
fn in_berlin_a_fixed_time_in_the_gap_comes_right_after_it_and_in_the_overlap_once() {
    let spring = slots("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00[Europe/Berlin]", 3);
    assert_eq!(spring, ["03-28 02:30 +01:00", "03-29 03:00 +02:00", "03-30 02:30 +02:00"]);
    let autumn = slots("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00[Europe/Berlin]", 2);
    assert_eq!(autumn, ["10-25 02:30 +02:00", "10-26 02:30 +01:00"]);
}

#[test]
fn in_new_york_steps_pass_over_the_gap_and_run_in_both_passes_of_the_overlap() {
    let zone = "America/New_York";
    let spring = slots("*/30 * * * *", zone, "2026-03-08T01:00[America/New_York]", 3);
    assert_eq!(spring, ["03-08 01:30 -05:00", "03-08 03:00 -04:00", "03-08 03:30 -04:00"]);
    let autumn = slots("*/30 * * * *", zone, "2026-11-01T00:30[America/New_York]", 5);
    assert_eq!(
        autumn,
        [
            "11-01 01:00 -04:00",
            "11-01 01:30 -04:00",
            "11-01 01:00 -05:00",
            "11-01 01:30 -05:00",
            "11-01 02:00 -05:00",
        ]
    );
    let nightly = slots("30 1 * * *", zone, "2026-10-31T12:00[America/New_York]", 2);
    assert_eq!(nightly, ["11-01 01:30 -04:00", "11-02 01:30 -05:00"]);
}

#[test]
fn on_lord_howe_half_an_hour_is_lost_and_found() {
    let zone = "Australia/Lord_Howe";
    // 2 o'clock becomes half past two, and later half past one again.
    let spring = slots("15 2 * * *", zone, "2026-10-03T12:00[Australia/Lord_Howe]", 2);
    assert_eq!(spring, ["10-04 02:30 +11:00", "10-05 02:15 +11:00"]);
    let autumn = slots("45 1 * * *", zone, "2026-04-04T12:00[Australia/Lord_Howe]", 2);
    assert_eq!(autumn, ["04-05 01:45 +11:00", "04-06 01:45 +10:30"]);
    let steps = slots("*/15 * * * *", zone, "2026-04-05T01:29[Australia/Lord_Howe]", 5);
    assert_eq!(
        steps,
        [
            "04-05 01:30 +11:00",
            "04-05 01:45 +11:00",
            "04-05 01:30 +10:30",
            "04-05 01:45 +10:30",
            "04-05 02:00 +10:30",
        ]
    );
}

#[test]
fn an_interval_does_not_care_for_clocks_and_does_not_drift() {
    let schedule = parse("every 2h").expect("a schedule");
    let berlin = zone("Europe/Berlin");
    let base = at("2026-03-29T00:00:00Z");
    let next = schedule.next(base, at("2026-03-29T03:30:00Z"), &berlin).expect("valid");
    assert_eq!(next, Some(at("2026-03-29T04:00:00Z")));
    let next = schedule.next(base, at("2026-03-29T04:00:00Z"), &berlin).expect("valid");
    assert_eq!(next, Some(at("2026-03-29T06:00:00Z")));
}

#[test]
fn what_is_written_to_the_file_is_what_hermes_agent_reads() {
    let once = parse("2030-02-03T14:00:00Z").expect("a schedule");
    assert_eq!(
        serde_json::to_value(&once).expect("JSON"),
        serde_json::json!({
            "kind": "once", "run_at": "2030-02-03T14:00:00+00:00",
            "display": "once at 2030-02-03 15:00",
        })
    );
    let theirs = serde_json::json!({"kind": "interval", "minutes": 120, "display": "every 120m"});
    let read: JobSchedule = serde_json::from_value(theirs.clone()).expect("a schedule");
    assert_eq!(serde_json::to_value(read).expect("JSON"), theirs);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    /// Looking forward and looking back see the same slots, whatever the
    /// clocks do in between.
    #[test]
    fn forward_and_back_agree(
        second in 1_740_000_000_i64..1_830_000_000,
        which in 0_usize..6,
        place in 0_usize..4,
    ) {
        let exprs = ["30 2 * * *", "*/20 1-3 * * *", "0 * * * *", "45 1 * * SUN", "15,45 2 1-7 * *", "0 0 L * *"];
        let zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"];
        let tz = zone(zones[place]);
        let schedule = parse_cron(exprs[which], Some(zones[place])).expect("a schedule");
        let start = Timestamp::from_second(second).expect("a time");
        let mut forward = vec![schedule.next(start, start, &tz).expect("valid").expect("a slot")];
        for _ in 0..6 {
            let last = *forward.last().expect("one");
            let next = schedule.next(last, last, &tz).expect("valid").expect("a slot");
            prop_assert!(next > last);
            prop_assert!(schedule.has_slot(next, &tz).expect("valid"));
            forward.push(next);
        }
        let now = *forward.last().expect("one");
        let back = schedule.passed_slots(forward[0], now, 100, &tz).expect("valid");
        prop_assert_eq!(back, forward);
    }

    /// No text makes the reader fall over, or takes long.
    #[test]
    fn any_text_is_read(text in "[0-9a-zA-Z*/,\\-@#:LW?+ ]{0,40}|\\PC{0,40}") {
        let _ = parse(&text);
    }
}

#[test]
fn nothing_comes_more_often_than_once_a_minute() {
    for often in ["* * * * * *", "*/30 * * * * *", "0,1 0 9 * * *"] {
        let error = parse(often).expect_err(often).to_string();
        assert!(error.contains("more often than once a minute"), "{error}");
    }
    for rare in ["* * * * *", "30 * * * * *", "0 0 9 * * *"] {
        parse(rare).expect(rare);
    }
}
