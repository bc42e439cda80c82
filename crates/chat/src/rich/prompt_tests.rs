use super::*;
use crate::{Candidate, Completions};

struct Commands;

impl Completer for Commands {
    fn complete(&self, line: &str, cursor: usize) -> Completions {
        let start = line[..cursor].rfind(' ').map_or(0, |at| at + 1);
        let word = &line[start..cursor];
        let all = ["/tools ", "/toolsets ", "/undo ", "@src/", "@src/main.rs "];
        let candidates = all
            .iter()
            .filter(|text| !word.is_empty() && text.starts_with(word))
            .map(|text| Candidate { text: (*text).to_owned(), note: "a note".to_owned() })
            .collect();
        Completions { start, candidates }
    }
}

fn prompt() -> Prompt {
    let mut history = History::default();
    for line in ["cargo test", "git status", "cargo check\n--all"] {
        history.add(line);
    }
    Prompt::new(history, Some(Arc::new(Commands)), "type here")
}

fn press(prompt: &mut Prompt, code: Code) -> Wanted {
    prompt.key(Key::plain(code))
}

fn write(prompt: &mut Prompt, text: &str) {
    for c in text.chars() {
        assert_eq!(press(prompt, Code::Char(c)), Wanted::Nothing);
    }
}

fn sent(text: &str) -> Wanted {
    Wanted::Send { text: text.to_owned(), shown: text.to_owned(), files: Vec::new() }
}

fn rows(prompt: &Prompt) -> Vec<String> {
    prompt.live(40, 10).rows.iter().map(|row| row.text().trim_end().to_owned()).collect()
}

#[test]
fn a_line_is_sent_and_remembered() {
    let mut prompt = prompt();
    assert_eq!(rows(&prompt), ["❯ type here"]);
    assert_eq!(press(&mut prompt, Code::Enter), Wanted::Nothing);
    write(&mut prompt, "hello");
    assert_eq!(press(&mut prompt, Code::Enter), sent("hello"));
    assert!(prompt.is_empty());
    press(&mut prompt, Code::Up);
    assert_eq!(prompt.editor.text(), "hello");
}

#[test]
fn lines_are_broken_in_many_ways() {
    let mut prompt = prompt();
    write(&mut prompt, "a\\");
    assert_eq!(press(&mut prompt, Code::Enter), Wanted::Nothing);
    write(&mut prompt, "b");
    prompt.key(Key { alt: true, ..Key::plain(Code::Enter) });
    write(&mut prompt, "c");
    prompt.key(Key { shift: true, ..Key::plain(Code::Enter) });
    write(&mut prompt, "d");
    prompt.key(Key::ctrl('j'));
    write(&mut prompt, "e\\\\");
    assert_eq!(press(&mut prompt, Code::Enter), sent("a\nb\nc\nd\ne\\\\"));
}

#[test]
fn ctrl_c_clears_before_it_interrupts() {
    let mut prompt = prompt();
    write(&mut prompt, "half a thought");
    assert_eq!(prompt.key(Key::ctrl('c')), Wanted::Nothing);
    assert!(prompt.is_empty());
    assert_eq!(prompt.key(Key::ctrl('c')), Wanted::Interrupt);
    assert_eq!(prompt.key(Key::ctrl('d')), Wanted::Quit);
    assert_eq!(prompt.key(Key::ctrl('z')), Wanted::Suspend);
}

#[test]
fn ctrl_d_deletes_where_there_is_something() {
    let mut prompt = prompt();
    write(&mut prompt, "ab");
    prompt.key(Key::ctrl('a'));
    assert_eq!(prompt.key(Key::ctrl('d')), Wanted::Nothing);
    assert_eq!(prompt.editor.text(), "b");
}

#[test]
fn history_keeps_what_was_typed() {
    let mut prompt = prompt();
    write(&mut prompt, "draft");
    press(&mut prompt, Code::Up);
    assert_eq!(prompt.editor.text(), "cargo check\n--all");
    // First through the lines of the text, then to the one before.
    press(&mut prompt, Code::Up);
    press(&mut prompt, Code::Up);
    assert_eq!(prompt.editor.text(), "git status");
    press(&mut prompt, Code::Up);
    press(&mut prompt, Code::Up);
    assert_eq!(prompt.editor.text(), "cargo test");
    for _ in 0..4 {
        press(&mut prompt, Code::Down);
    }
    assert_eq!(prompt.editor.text(), "draft");
}

#[test]
fn ctrl_r_finds_older_and_older_lines() {
    let mut prompt = prompt();
    write(&mut prompt, "draft");
    prompt.key(Key::ctrl('r'));
    write(&mut prompt, "cargo");
    assert_eq!(prompt.editor.text(), "cargo check\n--all");
    prompt.key(Key::ctrl('r'));
    assert_eq!(prompt.editor.text(), "cargo test");
    prompt.key(Key::ctrl('r'));
    assert_eq!(prompt.editor.text(), "cargo test");
    assert!(rows(&prompt).iter().any(|row| row.contains("search: cargo")));
    press(&mut prompt, Code::Escape);
    assert_eq!(prompt.editor.text(), "draft");
    prompt.key(Key::ctrl('r'));
    write(&mut prompt, "git");
    assert_eq!(press(&mut prompt, Code::Enter), Wanted::Nothing);
    assert_eq!(press(&mut prompt, Code::Enter), sent("git status"));
}

#[test]
fn the_beginning_of_an_old_line_suggests_the_rest() {
    let mut prompt = prompt();
    write(&mut prompt, "git");
    assert_eq!(rows(&prompt), ["❯ git status"]);
    assert_eq!(prompt.editor.text(), "git");
    press(&mut prompt, Code::Right);
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
    press(&mut prompt, Code::Tab);
    assert_eq!(prompt.editor.text(), "/tools");
    press(&mut prompt, Code::Down);
    press(&mut prompt, Code::Down);
    assert_eq!(press(&mut prompt, Code::Enter), Wanted::Nothing);
    assert_eq!(prompt.editor.text(), "/toolsets ");
    assert_eq!(press(&mut prompt, Code::Enter), sent("/toolsets"));
}

#[test]
fn a_menu_that_opened_by_itself_does_not_catch_enter() {
    let mut prompt = prompt();
    write(&mut prompt, "/tool");
    assert_eq!(press(&mut prompt, Code::Enter), sent("/tool"));
}

#[test]
fn tab_completes_words_anywhere() {
    let mut prompt = prompt();
    write(&mut prompt, "look at @sr");
    assert_eq!(rows(&prompt).len(), 1);
    press(&mut prompt, Code::Tab);
    assert_eq!(prompt.editor.text(), "look at @src/");
    press(&mut prompt, Code::Tab);
    press(&mut prompt, Code::Tab);
    assert_eq!(press(&mut prompt, Code::Enter), Wanted::Nothing);
    assert_eq!(prompt.editor.text(), "look at @src/main.rs ");
    write(&mut prompt, "/u");
    press(&mut prompt, Code::Tab);
    assert_eq!(prompt.editor.text(), "look at @src/main.rs /undo ");
}

#[test]
fn files_are_attached_by_pasting_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b.png");
    std::fs::write(&path, "x").unwrap();
    let mut prompt = prompt();
    prompt.paste(&format!("'{}'", path.display()));
    write(&mut prompt, "see");
    let text = format!("{} see", path.display());
    let shown = "[picture a b.png] see".to_owned();
    assert_eq!(press(&mut prompt, Code::Enter), Wanted::Send { text, shown, files: vec![path] });
}

#[test]
fn emacs_keys_edit() {
    let mut prompt = prompt();
    write(&mut prompt, "one two three");
    prompt.key(Key::ctrl('w'));
    prompt.key(Key { alt: true, ..Key::plain(Code::Char('b')) });
    prompt.key(Key::ctrl('k'));
    assert_eq!(prompt.editor.text(), "one ");
    prompt.key(Key::ctrl('y'));
    assert_eq!(prompt.editor.text(), "one two ");
    prompt.key(Key::ctrl('u'));
    assert_eq!(prompt.editor.text(), "");
    prompt.key(Key::ctrl('_'));
    assert_eq!(prompt.editor.text(), "one two ");
}

#[test]
fn shift_tab_is_told_unless_a_menu_is_open() {
    let mut prompt = prompt();
    assert_eq!(press(&mut prompt, Code::BackTab), Wanted::ShiftTab);
    write(&mut prompt, "some words");
    assert_eq!(press(&mut prompt, Code::BackTab), Wanted::ShiftTab);
    assert_eq!(prompt.editor.text(), "some words");
    prompt.key(Key::ctrl('u'));
    write(&mut prompt, "/t");
    assert_eq!(press(&mut prompt, Code::BackTab), Wanted::Nothing, "the menu takes it");
}
