use super::*;
use crate::{CompletionCandidate, CompletionList};

struct Commands;

impl LineCompleter for Commands {
    fn complete(&self, line: &str, cursor: usize) -> CompletionList {
        let start = line[..cursor].rfind(' ').map_or(0, |at| at + 1);
        let word = &line[start..cursor];
        let all = ["/tools ", "/toolsets ", "/undo ", "@src/", "@src/main.rs "];
        let candidates = all
            .iter()
            .filter(|text| !word.is_empty() && text.starts_with(word))
            .map(|text| CompletionCandidate { text: (*text).to_owned(), note: "a note".to_owned() })
            .collect();
        CompletionList { start, candidates }
    }
}

fn prompt() -> LinePrompt {
    let mut history = InputHistory::default();
    for line in ["cargo test", "git status", "cargo check\n--all"] {
        history.add(line);
    }
    LinePrompt::new(history, Some(Arc::new(Commands)), "type here")
}

fn press(prompt: &mut LinePrompt, code: KeyCode) -> PromptAction {
    prompt.on_key(KeyPress::plain(code))
}

fn write(prompt: &mut LinePrompt, text: &str) {
    for c in text.chars() {
        assert_eq!(press(prompt, KeyCode::Char(c)), PromptAction::Nothing);
    }
}

fn sent(text: &str) -> PromptAction {
    PromptAction::Submit { text: text.to_owned(), shown: text.to_owned(), files: Vec::new() }
}

fn rows(prompt: &LinePrompt) -> Vec<String> {
    prompt.live_area(40, 10).rows.iter().map(|row| row.text().trim_end().to_owned()).collect()
}

#[test]
fn a_line_is_sent_and_remembered() {
    let mut prompt = prompt();
    assert_eq!(rows(&prompt), ["❯ type here"]);
    assert_eq!(press(&mut prompt, KeyCode::Enter), PromptAction::Nothing);
    write(&mut prompt, "hello");
    assert_eq!(press(&mut prompt, KeyCode::Enter), sent("hello"));
    assert!(prompt.is_empty());
    press(&mut prompt, KeyCode::Up);
    assert_eq!(prompt.editor.text(), "hello");
}

#[test]
fn lines_are_broken_in_many_ways() {
    let mut prompt = prompt();
    write(&mut prompt, "a\\");
    assert_eq!(press(&mut prompt, KeyCode::Enter), PromptAction::Nothing);
    write(&mut prompt, "b");
    prompt.on_key(KeyPress { alt: true, ..KeyPress::plain(KeyCode::Enter) });
    write(&mut prompt, "c");
    prompt.on_key(KeyPress { shift: true, ..KeyPress::plain(KeyCode::Enter) });
    write(&mut prompt, "d");
    prompt.on_key(KeyPress::ctrl('j'));
    write(&mut prompt, "e\\\\");
    assert_eq!(press(&mut prompt, KeyCode::Enter), sent("a\nb\nc\nd\ne\\\\"));
}

#[test]
fn ctrl_c_clears_before_it_interrupts() {
    let mut prompt = prompt();
    write(&mut prompt, "half a thought");
    assert_eq!(prompt.on_key(KeyPress::ctrl('c')), PromptAction::Nothing);
    assert!(prompt.is_empty());
    assert_eq!(prompt.on_key(KeyPress::ctrl('c')), PromptAction::Interrupt);
    assert_eq!(prompt.on_key(KeyPress::ctrl('d')), PromptAction::Quit);
    assert_eq!(prompt.on_key(KeyPress::ctrl('z')), PromptAction::Suspend);
}

#[test]
fn ctrl_d_deletes_where_there_is_something() {
    let mut prompt = prompt();
    write(&mut prompt, "ab");
    prompt.on_key(KeyPress::ctrl('a'));
    assert_eq!(prompt.on_key(KeyPress::ctrl('d')), PromptAction::Nothing);
    assert_eq!(prompt.editor.text(), "b");
}

#[test]
fn history_keeps_what_was_typed() {
    let mut prompt = prompt();
    write(&mut prompt, "draft");
    press(&mut prompt, KeyCode::Up);
    assert_eq!(prompt.editor.text(), "cargo check\n--all");
    // First through the lines of the text, then to the one before.
    press(&mut prompt, KeyCode::Up);
    press(&mut prompt, KeyCode::Up);
    assert_eq!(prompt.editor.text(), "git status");
    press(&mut prompt, KeyCode::Up);
    press(&mut prompt, KeyCode::Up);
    assert_eq!(prompt.editor.text(), "cargo test");
    for _ in 0..4 {
        press(&mut prompt, KeyCode::Down);
    }
    assert_eq!(prompt.editor.text(), "draft");
}

#[test]
fn ctrl_r_finds_older_and_older_lines() {
    let mut prompt = prompt();
    write(&mut prompt, "draft");
    prompt.on_key(KeyPress::ctrl('r'));
    write(&mut prompt, "cargo");
    assert_eq!(prompt.editor.text(), "cargo check\n--all");
    prompt.on_key(KeyPress::ctrl('r'));
    assert_eq!(prompt.editor.text(), "cargo test");
    prompt.on_key(KeyPress::ctrl('r'));
    assert_eq!(prompt.editor.text(), "cargo test");
    assert!(rows(&prompt).iter().any(|row| row.contains("search: cargo")));
    press(&mut prompt, KeyCode::Escape);
    assert_eq!(prompt.editor.text(), "draft");
    prompt.on_key(KeyPress::ctrl('r'));
    write(&mut prompt, "git");
    assert_eq!(press(&mut prompt, KeyCode::Enter), PromptAction::Nothing);
    assert_eq!(press(&mut prompt, KeyCode::Enter), sent("git status"));
}

#[test]
fn the_beginning_of_an_old_line_suggests_the_rest() {
    let mut prompt = prompt();
    write(&mut prompt, "git");
    assert_eq!(rows(&prompt), ["❯ git status"]);
    assert_eq!(prompt.editor.text(), "git");
    press(&mut prompt, KeyCode::Right);
    assert_eq!(prompt.editor.text(), "git status");
}

#[test]
fn commands_have_a_menu_by_themselves() {
    let mut prompt = prompt();
    write(&mut prompt, "/to");
    assert_eq!(
        rows(&prompt),
        ["❯ /tools", "  /tools     a note", "  /toolsets  a note"].map(str::to_owned)
    );
    // All agree so far; then they are to be chosen from.
    press(&mut prompt, KeyCode::Tab);
    assert_eq!(prompt.editor.text(), "/tools");
    press(&mut prompt, KeyCode::Down);
    press(&mut prompt, KeyCode::Down);
    assert_eq!(press(&mut prompt, KeyCode::Enter), PromptAction::Nothing);
    assert_eq!(prompt.editor.text(), "/toolsets ");
    assert_eq!(press(&mut prompt, KeyCode::Enter), sent("/toolsets"));
}

#[test]
fn a_menu_that_opened_by_itself_does_not_catch_enter() {
    let mut prompt = prompt();
    write(&mut prompt, "/tool");
    assert_eq!(press(&mut prompt, KeyCode::Enter), sent("/tool"));
}

#[test]
fn tab_completes_words_anywhere() {
    let mut prompt = prompt();
    write(&mut prompt, "look at @sr");
    assert_eq!(rows(&prompt).len(), 1);
    press(&mut prompt, KeyCode::Tab);
    assert_eq!(prompt.editor.text(), "look at @src/");
    press(&mut prompt, KeyCode::Tab);
    press(&mut prompt, KeyCode::Tab);
    assert_eq!(press(&mut prompt, KeyCode::Enter), PromptAction::Nothing);
    assert_eq!(prompt.editor.text(), "look at @src/main.rs ");
    write(&mut prompt, "/u");
    press(&mut prompt, KeyCode::Tab);
    assert_eq!(prompt.editor.text(), "look at @src/main.rs /undo ");
}

#[test]
fn files_are_attached_by_pasting_their_paths() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a b.png");
    std::fs::write(&path, "x").unwrap();
    let mut prompt = prompt();
    prompt.paste(&format!("'{}'", path.display()));
    write(&mut prompt, "see");
    let text = format!("{} see", path.display());
    let shown = "[picture a b.png] see".to_owned();
    assert_eq!(
        press(&mut prompt, KeyCode::Enter),
        PromptAction::Submit { text, shown, files: vec![path] }
    );
}

#[test]
fn emacs_keys_edit() {
    let mut prompt = prompt();
    write(&mut prompt, "one two three");
    prompt.on_key(KeyPress::ctrl('w'));
    prompt.on_key(KeyPress { alt: true, ..KeyPress::plain(KeyCode::Char('b')) });
    prompt.on_key(KeyPress::ctrl('k'));
    assert_eq!(prompt.editor.text(), "one ");
    prompt.on_key(KeyPress::ctrl('y'));
    assert_eq!(prompt.editor.text(), "one two ");
    prompt.on_key(KeyPress::ctrl('u'));
    assert_eq!(prompt.editor.text(), "");
    prompt.on_key(KeyPress::ctrl('_'));
    assert_eq!(prompt.editor.text(), "one two ");
}

#[test]
fn shift_tab_is_told_unless_a_menu_is_open() {
    let mut prompt = prompt();
    assert_eq!(press(&mut prompt, KeyCode::BackTab), PromptAction::ShiftTab);
    write(&mut prompt, "some words");
    assert_eq!(press(&mut prompt, KeyCode::BackTab), PromptAction::ShiftTab);
    assert_eq!(prompt.editor.text(), "some words");
    prompt.on_key(KeyPress::ctrl('u'));
    write(&mut prompt, "/t");
    assert_eq!(press(&mut prompt, KeyCode::BackTab), PromptAction::Nothing, "the menu takes it");
}
