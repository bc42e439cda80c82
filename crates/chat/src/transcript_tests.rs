use super::*;

fn texts(transcript: &mut ChatTranscript) -> Vec<String> {
    transcript.take_rows().iter().map(|row| row.text().trim_end().to_owned()).collect()
}

#[test]
fn different_things_stand_apart() {
    let mut transcript = ChatTranscript::new(40, false);
    transcript.user("do it");
    transcript.text("Sure.\n\nNow");
    let call = |ok, note| FinishedCall {
        emoji: "📖",
        name: "read_file",
        summary: "a.txt",
        ok,
        duration: Duration::from_millis(1_240),
        note,
    };
    transcript.call(&call(true, ""));
    transcript.call(&call(false, "no such file"));
    transcript.message(MessageLevel::Warning, "careful\nhere");
    transcript.text("Done.");
    transcript.end_text();
    let want = [
        "❯ do it",
        "",
        "Sure.",
        "",
        "Now",
        "",
        "✓ 📖 read_file a.txt  1.2 s",
        "✗ 📖 read_file a.txt  1.2 s",
        "    no such file",
        "",
        "! careful",
        "  here",
        "",
        "Done.",
    ];
    assert_eq!(texts(&mut transcript), want);
}

#[test]
fn a_call_has_one_row_whatever_it_was_called_with() {
    let mut transcript = ChatTranscript::new(30, false);
    let summary = "a very\nlong\tsummary ".repeat(10);
    let ended = FinishedCall {
        emoji: "",
        name: "x",
        summary: &summary,
        ok: true,
        duration: Duration::from_secs(75),
        note: "",
    };
    transcript.call(&ended);
    assert_eq!(texts(&mut transcript), ["✓ x a very long s…  1 min 15 s"]);
}

#[test]
fn thoughts_are_told_in_one_row() {
    let mut transcript = ChatTranscript::new(40, false);
    transcript.thought("hm\nlet me ", Instant::now());
    transcript.thought("see", Instant::now());
    assert_eq!(transcript.thinking().map(|(_, line)| line).as_deref(), Some("let me see"));
    transcript.text("Yes.\n\n");
    let rows = texts(&mut transcript);
    assert!(rows[0].starts_with("✻ thought for"), "{rows:?}");
    assert_eq!(rows[1..], ["", "Yes."]);

    let mut transcript = ChatTranscript::new(40, true);
    transcript.thought("hm\nlet me see", Instant::now());
    transcript.end_thought();
    assert_eq!(texts(&mut transcript)[1..], ["  hm", "  let me see"]);
}

#[test]
fn a_long_message_of_the_person_is_not_repeated_whole() {
    let mut transcript = ChatTranscript::new(40, false);
    transcript.user(&"line\n".repeat(500));
    let rows = texts(&mut transcript);
    assert_eq!(rows.len(), MAX_ECHO_ROWS + 1);
    assert_eq!(rows[MAX_ECHO_ROWS], "  … 500 lines in all");
}

#[test]
fn unfinished_text_is_bounded() {
    let mut transcript = ChatTranscript::new(40, false);
    transcript.text(&"word ".repeat(10_000));
    assert_eq!(transcript.unfinished(5).len(), 5);
    assert!(transcript.take_rows().is_empty());
}

#[test]
fn times_are_brief() {
    for (milliseconds, want) in [
        (3, "3 ms"),
        (180, "0.2 s"),
        (9_400, "9.4 s"),
        (42_000, "42 s"),
        (75_000, "1 min 15 s"),
        (7_380_000, "2 h 3 min"),
    ] {
        assert_eq!(format_duration(Duration::from_millis(milliseconds)), want);
    }
}
