use std::time::Duration;

use proptest::prelude::*;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use super::super::keys::KeyCode;
use super::*;
use crate::command::MessageLevel;
use crate::row::ColourSupport;
use crate::{QuestionChoice, UserQuestion};

fn blank(height: u16, columns: u16) -> vt100::Parser {
    let size = |size: u16| std::num::NonZero::new(size).unwrap();
    vt100::Parser::new(size(height), size(columns), 1_000)
}

struct Stage {
    ui: ScreenState,
    events: UnboundedReceiver<UserEvent>,
    terminal: vt100::Parser,
    now: Instant,
}

impl Stage {
    fn new(height: u16, columns: u16) -> Self {
        let (tell, events) = unbounded_channel();
        let size = (usize::from(columns), usize::from(height));
        let abilities = TerminalCapabilities { palette: ColourSupport::Full, reflows: true };
        let ui = ScreenState::new(&ScreenOptions::default(), size, abilities, tell);
        let terminal = blank(height, columns);
        Self { ui, events, terminal, now: Instant::now() }
    }

    fn order(&mut self, order: ScreenCommand) {
        self.ui.on_command(order, self.now);
    }

    /// Types with pauses, as people who read do.
    fn keys(&mut self, codes: &[KeyCode]) {
        for code in codes {
            self.now += Duration::from_secs(1);
            self.ui.on_input(TerminalInput::Key(KeyPress::plain(*code)), self.now);
        }
    }

    fn screen(&mut self) -> Vec<String> {
        let bytes = self.ui.draw(self.now);
        self.terminal.process(bytes.as_bytes());
        let text = self.terminal.screen().contents();
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    fn ask(&mut self, number: u64, title: &str) -> oneshot::Receiver<Option<QuestionAnswer>> {
        let (answer, answered) = oneshot::channel();
        let choices = vec![QuestionChoice::new('y', "Yes"), QuestionChoice::new('n', "No")];
        let question = UserQuestion { title: title.into(), choices, ..UserQuestion::default() };
        self.order(ScreenCommand::Ask { number, question, answer });
        self.screen();
        answered
    }
}

fn began(id: &str) -> ScreenCommand {
    let (emoji, summary) = ("📖".to_owned(), format!("file {id}"));
    ScreenCommand::CallBegan { id: id.into(), emoji, name: "read_file".into(), summary }
}

#[test]
fn an_answer_is_live_until_it_is_complete() {
    let mut stage = Stage::new(12, 40);
    stage.order(ScreenCommand::User("hi".into()));
    stage.order(ScreenCommand::Text("# Hello\nsome *te".into()));
    assert_eq!(stage.screen(), ["❯ hi", "", "Hello", "some *te", "", "❯"]);
    stage.order(ScreenCommand::Text("xt*\n\nmore".into()));
    assert_eq!(stage.screen(), ["❯ hi", "", "Hello", "some text", "", "more", "", "❯"]);
    stage.order(ScreenCommand::EndText);
    assert_eq!(stage.screen(), ["❯ hi", "", "Hello", "some text", "", "more", "", "❯"]);
}

#[test]
fn calls_run_side_by_side_and_end_as_one_row_each() {
    let mut stage = Stage::new(14, 60);
    stage.order(ScreenCommand::Text("Looking.".into()));
    stage.order(began("a"));
    stage.order(began("b"));
    let fraction = Some(0.5);
    stage.order(ScreenCommand::CallProgress { id: "b".into(), message: "half".into(), fraction });
    stage.now += Duration::from_secs(3);
    let rows = stage.screen();
    assert!(stage.ui.is_animating());
    assert_eq!(rows[0], "Looking.");
    assert!(rows[2].ends_with("read_file file a  3 s"), "{rows:?}");
    assert!(rows[3].contains("half") && rows[3].contains("▰▰▰▰▰▱▱▱▱▱ 50 %"), "{rows:?}");
    let duration = Duration::from_secs(3);
    stage.order(ScreenCommand::CallEnded {
        id: "b".into(),
        ok: true,
        duration,
        note: String::new(),
    });
    stage.order(ScreenCommand::CallEnded {
        id: "a".into(),
        ok: false,
        duration,
        note: "gone".into(),
    });
    let want = [
        "Looking.",
        "",
        "✓ 📖 read_file file b  3.0 s",
        "✗ 📖 read_file file a  3.0 s",
        "    gone",
        "",
        "❯",
    ];
    assert_eq!(stage.screen(), want);
    assert!(!stage.ui.is_animating());
}

#[test]
fn what_is_going_on_stays_below_the_text() {
    let mut stage = Stage::new(12, 40);
    stage.order(ScreenCommand::Working(Some("thinking".into())));
    stage.now += Duration::from_secs(2);
    assert_eq!(stage.screen(), ["⠋ thinking 2 s", "", "❯"]);
    stage.order(ScreenCommand::Text("one\n\ntw".into()));
    assert_eq!(stage.screen(), ["one", "", "tw", "", "⠋ thinking 2 s", "", "❯"]);
    stage.order(ScreenCommand::Working(None));
    stage.order(ScreenCommand::EndText);
    assert_eq!(stage.screen(), ["one", "", "tw", "", "❯"]);
}

#[test]
fn the_status_says_how_it_stands() {
    let mut stage = Stage::new(6, 80);
    let status = StatusLine {
        model: "opus".into(),
        context_used: 24_310,
        context_total: 200_000,
        cost: Some(0.0123),
        extra: vec!["yolo".into()],
    };
    stage.order(ScreenCommand::Status(status));
    assert_eq!(stage.screen(), ["❯", "  opus · 24.3k / 200k (12 %) · $0.0123 · yolo"]);
}

#[test]
fn what_is_typed_outlasts_a_question() {
    let mut stage = Stage::new(12, 60);
    stage.keys(&[KeyCode::Char('h'), KeyCode::Char('i')]);
    let mut first = stage.ask(1, "One?");
    let mut second = stage.ask(2, "Two?");
    let rows = stage.screen();
    assert!(
        rows.iter().any(|row| row == "? One?") && rows.iter().any(|row| row == "❯ hi"),
        "{rows:?}"
    );
    stage.keys(&[KeyCode::Char('y')]);
    stage.now = stage.ui.next_deadline().unwrap();
    assert!(stage.ui.run_due(stage.now));
    assert_eq!(first.try_recv(), Ok(Some(QuestionAnswer::Key('y'))));
    let rows = stage.screen();
    assert!(
        rows.iter().any(|row| row == "? One? → Yes") && rows.iter().any(|row| row == "? Two?"),
        "{rows:?}"
    );
    stage.keys(&[KeyCode::Escape]);
    assert_eq!(second.try_recv(), Ok(None));
    stage.keys(&[KeyCode::Enter]);
    let line = UserEvent::Line { text: "hi".into(), attachments: Vec::new() };
    assert_eq!(stage.events.try_recv(), Ok(line));
}

#[test]
fn in_the_end_nobody_waits_for_an_answer() {
    let mut stage = Stage::new(12, 60);
    let mut first = stage.ask(1, "One?");
    stage.ui.finish();
    assert_eq!(first.try_recv(), Err(oneshot::error::TryRecvError::Closed));
}

#[test]
fn a_question_can_be_taken_back() {
    let mut stage = Stage::new(12, 60);
    let _first = stage.ask(1, "One?");
    stage.order(ScreenCommand::WithdrawQuestion(1));
    assert_eq!(stage.screen(), ["❯"]);
}

#[test]
fn a_paste_is_shown_again_as_it_was_seen() {
    let mut stage = Stage::new(12, 60);
    let long = "line\n".repeat(50);
    stage.ui.on_input(TerminalInput::Paste(long.clone()), stage.now);
    stage.keys(&[KeyCode::Enter]);
    let Ok(UserEvent::Line { text, .. }) = stage.events.try_recv() else { panic!("no line") };
    assert_eq!(text, long.trim_end());
    stage.order(ScreenCommand::User(text));
    assert_eq!(stage.screen(), ["❯ [pasted 50 lines]", "", "❯"]);
}

#[test]
fn a_screen_that_shrinks_keeps_its_transcript() {
    let mut stage = Stage::new(10, 50);
    stage.order(ScreenCommand::Message(MessageLevel::Note, "kept".into()));
    stage.order(ScreenCommand::Text("words that fill more than one narrow row of text".into()));
    stage.screen();
    // A terminal that breaks rows anew leaves them as they would have been written.
    stage.terminal = blank(10, 20);
    stage.terminal.process(
        b"  kept\r\n\r\nwords that fill more\r\n than one narrow row\r\n of text\r\n\r\n> ",
    );
    stage.ui.resize((20, 10));
    let want = ["  kept", "", "words that fill", "more than one", "narrow row of text", "", "❯"];
    assert_eq!(stage.screen(), want);
    assert_eq!(stage.events.try_recv(), Ok(UserEvent::Resized));
}

#[test]
fn ten_thousand_lines_of_code_leave_a_small_live_area() {
    let mut stage = Stage::new(20, 40);
    let code: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
    stage.order(ScreenCommand::Text(format!("```\n{code}unfinished")));
    let bytes = stage.ui.draw(stage.now);
    assert_eq!(bytes.matches("line 9999").count(), 1);
    stage.order(ScreenCommand::Text(" still".into()));
    let next = stage.ui.draw(stage.now);
    assert!(next.len() < 200, "{next:?}");
}

#[test]
fn no_order_can_write_commands_to_the_terminal() {
    let mut stage = Stage::new(30, 60);
    let evil = "x\x1b]0;t\x07\x1b[2J\u{9b}5m\u{202e}\x08y";
    stage.order(ScreenCommand::User(evil.into()));
    stage.order(ScreenCommand::Thought(evil.into()));
    stage.order(ScreenCommand::Text(evil.into()));
    stage.order(ScreenCommand::EndText);
    for weight in [MessageLevel::Note, MessageLevel::Warning, MessageLevel::Error] {
        stage.order(ScreenCommand::Message(weight, evil.into()));
    }
    let summary = evil.to_owned();
    stage.order(ScreenCommand::CallBegan {
        id: "1".into(),
        emoji: evil.into(),
        name: evil.into(),
        summary,
    });
    stage.order(ScreenCommand::CallProgress {
        id: "1".into(),
        message: evil.into(),
        fraction: Some(f64::NAN),
    });
    stage.order(ScreenCommand::Working(Some(evil.into())));
    stage.order(ScreenCommand::FillPrompt(evil.into()));
    let extra = vec![evil.to_owned()];
    stage.order(ScreenCommand::Status(StatusLine {
        model: evil.into(),
        extra,
        ..StatusLine::default()
    }));
    let (answer, _answered) = oneshot::channel();
    let question = UserQuestion {
        title: evil.into(),
        body: vec![evil.into()],
        choices: vec![QuestionChoice::new('y', evil)],
        ..UserQuestion::default()
    };
    stage.order(ScreenCommand::Ask { number: 0, question, answer });
    let bytes = stage.ui.draw(stage.now);
    // What is left are our own: modes, styles, moves of the cursor, and erasing to the end.
    for command in bytes.split('\x1b').skip(1) {
        let end = command.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
        let (parameters, last) = (&command[..end], command.as_bytes()[end]);
        assert!(
            matches!((parameters, last), ("[?2026" | "[?25", b'h' | b'l'))
                || matches!(last, b'm' | b'A' | b'B' | b'C' | b'K')
                || (parameters, last) == ("[", b'J'),
            "{command:?}"
        );
        assert_ne!(command, "[0;5m");
    }
    assert!(!bytes.contains(['\x07', '\u{9b}', '\u{202e}', '\x08']));
}

/// Everything that was ever on the screen and is not taken away, without empty rows at the end.
fn whole(terminal: &mut vt100::Parser) -> Vec<String> {
    let screen = terminal.screen_mut();
    let columns = screen.size().1.into();
    screen.set_scrollback(usize::MAX);
    let mut rows = Vec::new();
    for offset in (1..=screen.scrollback()).rev() {
        screen.set_scrollback(offset);
        rows.extend(screen.rows(0, columns).next());
    }
    screen.set_scrollback(0);
    rows.extend(screen.rows(0, columns));
    while rows.last().is_some_and(|row| row.trim().is_empty()) {
        rows.pop();
    }
    rows
}

#[derive(Clone, Debug)]
enum Act {
    Order(u8, String),
    Type(char),
    Draw,
}

fn act() -> impl Strategy<Value = Act> {
    let text = prop::sample::select(vec![
        "one ",
        "two words\n",
        "\n\n",
        "```\n",
        "- item\n",
        "| a | b |\n|-|-|\n",
        "> said\n",
        "世界",
        "a line that is long enough to be broken into several rows of the screen\n",
    ]);
    let letter = prop::sample::select(vec!['a', ' ', '界', '/']);
    prop_oneof![
        (0u8..9, text).prop_map(|(kind, text)| Act::Order(kind, text.to_owned())),
        letter.prop_map(Act::Type),
        Just(Act::Draw),
        Just(Act::Draw),
    ]
}

fn made(kind: u8, text: String) -> ScreenCommand {
    let id = format!("{}", text.len() % 3);
    let duration = Duration::from_secs(2);
    match kind {
        0..3 => ScreenCommand::Text(text),
        3 => ScreenCommand::EndText,
        4 => ScreenCommand::Message(MessageLevel::Note, text),
        5 => began(&id),
        6 => ScreenCommand::CallEnded { id, ok: true, duration, note: text },
        7 => ScreenCommand::Working(Some(text)),
        _ => ScreenCommand::FillPrompt(text),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// However often the screen is drawn in between, what stays is what was printed.
    #[test]
    fn nothing_live_is_left_behind(acts in prop::collection::vec(act(), 0..60), height in 4u16..14) {
        let (mut often, mut once) = (Stage::new(height, 30), Stage::new(height, 30));
        for act in acts {
            match act {
                Act::Order(kind, text) => {
                    often.order(made(kind, text.clone()));
                    once.order(made(kind, text));
                }
                Act::Type(c) => often.keys(&[KeyCode::Char(c)]),
                Act::Draw => drop(often.screen()),
            }
        }
        for stage in [&mut often, &mut once] {
            let bytes = stage.ui.finish();
            stage.terminal.process(bytes.as_bytes());
        }
        prop_assert_eq!(whole(&mut often.terminal), whole(&mut once.terminal));
    }
}
