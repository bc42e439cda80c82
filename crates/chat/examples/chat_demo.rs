//! A conversation with nobody: it says back what is typed, and shows what the screen can do.
//!
//! Lines that begin with a slash ask for more: `/stream`, `/code N`, `/calls`, `/ask`, `/words`,
//! `/secret`, `/think`, `/todo`, `/evil`, `/big`, `/panic`, `/quit`; `/boom` lets the
//! screen itself panic.

use std::sync::Arc;
use std::time::Duration;

use hermes_chat::{
    ChatScreen, CompletionCandidate, CompletionList, LineCompleter, QuestionChoice, ScreenMode,
    ScreenOptions, StatusLine, TodoLine, TodoState, UserEvent, UserQuestion,
};
use tokio::task::JoinSet;
use tokio::time::sleep;

const COMMANDS: [(&str, &str); 12] = [
    ("/stream", "an answer, letter by letter"),
    ("/code", "so many lines of code"),
    ("/calls", "three calls at once"),
    ("/ask", "a question with keys"),
    ("/words", "a question to answer in words"),
    ("/secret", "a password"),
    ("/think", "thoughts before an answer"),
    ("/todo", "a plan"),
    ("/evil", "output that attacks the terminal"),
    ("/big", "a megabyte in one piece"),
    ("/panic", "a task that panics"),
    ("/quit", "leave"),
];

const ANSWER: &str = "\
# What it looks like

Text with **bold**, *italic*, ~~struck~~ and `inline code`, and a [link](https://example.com/page). \
Long lines are broken at spaces, 中文和日本語も正しく折り返します, and emoji 🎉 have their width.

1. First, a list
1. with numbers that count
   - and a list inside
   - of two items
1. and a third

> A quotation that somebody said, long enough to be broken into several rows on most terminals.

```rust
fn main() {
    println!(\"code stays as it is\");
}
```

| crate | what it is | size |
|---|---|---:|
| core | the contracts: tool, call, result, error | 12 |
| chat | the terminal of a conversation | 7 |

That is all.
";

struct Commands;

impl LineCompleter for Commands {
    fn complete(&self, line: &str, cursor: usize) -> CompletionList {
        let typed = line.get(..cursor).unwrap_or_default();
        assert_ne!(typed, "/boom", "the screen itself panics");
        let fits = COMMANDS.iter().filter(|(name, _)| name.starts_with(typed));
        let candidates = fits.map(|(name, note)| CompletionCandidate {
            text: format!("{name} "),
            note: (*note).to_owned(),
        });
        CompletionList { start: 0, candidates: candidates.collect() }
    }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> std::io::Result<()> {
    let look = ScreenOptions {
        history: std::env::var_os("CHAT_DEMO_HISTORY").map(Into::into),
        completer: Some(Arc::new(Commands)),
        placeholder: "say something, or / for commands".to_owned(),
        ..ScreenOptions::default()
    };
    let (screen, mut events) = ChatScreen::open(look)?;
    let mut status = StatusLine {
        model: "echo-1".to_owned(),
        context_total: 200_000,
        cost: Some(0.0),
        ..StatusLine::default()
    };
    let mut answers = JoinSet::new();
    screen.status(status.clone());
    screen.note("Nobody is here but an echo. Ctrl-D leaves.");
    while let Some(event) = events.next().await {
        match event {
            UserEvent::Line { text, attachments } => {
                screen.user(&text);
                for file in attachments {
                    screen.note(&format!("attached: {}", file.display()));
                }
                if text == "/quit" {
                    break;
                }
                answers.spawn(answer(screen.clone(), text));
                status.context_used += 1_234;
                status.cost = status.cost.map(|cost| cost + 0.0042);
                screen.status(status.clone());
            }
            UserEvent::Interrupt => screen.warn("interrupted"),
            UserEvent::Quit => {
                // The input of a pipe ends while answers are still wanted.
                while screen.mode() == ScreenMode::Piped && answers.join_next().await.is_some() {}
                break;
            }
            UserEvent::Terminated => {
                screen.note("asked to leave");
                break;
            }
            UserEvent::ShiftTab | UserEvent::Resized => {}
        }
    }
    screen.close();
    Ok(())
}

async fn answer(screen: ChatScreen, text: String) {
    let (command, rest) = text.split_once(' ').unwrap_or((&text, ""));
    match command {
        "/stream" => stream(&screen).await,
        "/code" => code(&screen, rest.parse().unwrap_or(10)),
        "/calls" => calls(&screen).await,
        "/ask" => ask(&screen).await,
        "/words" => words(&screen).await,
        "/secret" => secret(&screen).await,
        "/think" => think(&screen).await,
        "/todo" => plan(&screen),
        "/evil" => evil(&screen),
        "/big" => screen.text(&"many words in one line ".repeat(45_000)),
        "/panic" => panic!("this was wanted"),
        _ => screen.text(&format!("You said: {text}")),
    }
    screen.end_text();
}

async fn stream(screen: &ChatScreen) {
    screen.working(Some("waiting for the model"));
    sleep(Duration::from_millis(300)).await;
    screen.working(None);
    for letter in ANSWER.chars() {
        screen.text(letter.encode_utf8(&mut [0; 4]));
        sleep(Duration::from_millis(3)).await;
    }
}

fn code(screen: &ChatScreen, lines: usize) {
    screen.text("```python\n");
    for line in 0..lines {
        screen.text(&format!("print({line})\n"));
    }
    screen.text("```\n");
}

async fn calls(screen: &ChatScreen) {
    screen.text("Let me look at *three* things at once.");
    screen.call_began("1", "📖", "read_file", "src/main.rs");
    screen.call_began("2", "💻", "terminal", "cargo test --workspace");
    screen.call_began("3", "🔍", "search_files", "\"fn main\" in crates");
    for step in 0..10u32 {
        sleep(Duration::from_millis(60)).await;
        screen.call_progress("2", "compiling", Some(f64::from(step) / 10.0));
        if step == 3 {
            screen.call_ended("1", true, Duration::from_millis(182), "");
        }
    }
    screen.call_ended("3", false, Duration::from_millis(540), "no such folder: crates");
    screen.call_ended("2", true, Duration::from_millis(600), "12 passed");
    screen.text("Done.");
}

async fn ask(screen: &ChatScreen) {
    let question = UserQuestion {
        title: "Run this command?".to_owned(),
        body: vec!["$ rm -rf build".to_owned(), "in /home/me/project".to_owned()],
        choices: vec![
            QuestionChoice::new('y', "Yes, once"),
            QuestionChoice::new('s', "Yes, for this session"),
            QuestionChoice::new('a', "Always"),
            QuestionChoice::new('n', "No"),
        ],
        ..UserQuestion::default()
    };
    let answer = screen.ask(question).await;
    screen.note(&format!("answer: {answer:?}"));
}

async fn words(screen: &ChatScreen) {
    let question = UserQuestion {
        title: "Which data base shall it be?".to_owned(),
        choices: vec![QuestionChoice::new('1', "SQLite"), QuestionChoice::new('2', "PostgreSQL")],
        free_text: true,
        ..UserQuestion::default()
    };
    let answer = screen.ask(question).await;
    screen.note(&format!("answer: {answer:?}"));
}

async fn secret(screen: &ChatScreen) {
    let question =
        UserQuestion { title: "Password".to_owned(), secret: true, ..UserQuestion::default() };
    let answer = screen.ask(question).await;
    screen.note(&format!("answered: {}", answer.is_some()));
}

async fn think(screen: &ChatScreen) {
    for word in "First I look at the question. Then I wonder what it means.\nThen I answer."
        .split_inclusive(' ')
    {
        screen.thought(word);
        sleep(Duration::from_millis(50)).await;
    }
    screen.text("I have thought about it.");
}

fn plan(screen: &ChatScreen) {
    let line = |state, text: &str| TodoLine { state, text: text.to_owned() };
    screen.todo(&[
        line(TodoState::Done, "read the issue"),
        line(TodoState::Doing, "write the code"),
        line(TodoState::Open, "run the tests"),
        line(TodoState::Dropped, "rewrite everything"),
    ]);
}

fn evil(screen: &ChatScreen) {
    let attack = "a\x1b]0;owned\x07b\x1b[2Jc\x1b[?1049hd\u{202e}e &#27;[31mf";
    screen.text(attack);
    screen.end_text();
    screen.note(attack);
    screen.call_began("e", "\x1b[5m", attack, attack);
    screen.call_ended("e", false, Duration::ZERO, attack);
}
