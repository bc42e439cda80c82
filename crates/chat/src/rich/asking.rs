//! A question on the screen.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::keys::{Code, Key};
use super::painter::Live;
use crate::clean::{clean, one_line};
use crate::editor::{Editor, Sight, Step, lay_out};
use crate::row::{BOLD, Colour, DIM, PLAIN, Row, Span};
use crate::wrap::{Indent, wrap};
use crate::{Answer, Question};

/// Whoever is typing when a question appears has not read it yet: keys count as answers only after
/// a pause.
const TO_SEE_IT: Duration = Duration::from_millis(250);
const PAUSE: Duration = Duration::from_millis(500);
/// A key may be the first letter of a word, and “stop” is not “s”: it counts when nothing follows it
/// for so long.
const WORD: Duration = Duration::from_millis(600);

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It was for the question, which is still open.
    Open,
    /// It was not for the question.
    NotMine,
    Answered(Answer),
    Refused,
    /// Refused, and everything else is to stop too.
    Interrupted,
}

/// A question, and how far its answer is.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) number: u64,
    pub(crate) question: Question,
    pub(crate) answer: oneshot::Sender<Option<Answer>>,
    chosen: usize,
    typing: Option<Editor>,
    /// A key that was pressed, and when.
    pressed: Option<(char, Instant)>,
    /// A line that was typed and is no answer.
    missed: Option<String>,
    /// Since when it is on the screen.
    shown: Option<Instant>,
    is_armed: bool,
    /// Its body was too long, and is printed above.
    is_printed: bool,
}

impl Asking {
    pub(crate) fn new(
        number: u64,
        question: Question,
        answer: oneshot::Sender<Option<Answer>>,
    ) -> Self {
        let typing = question.choices.is_empty().then(Editor::default);
        Self {
            number,
            question,
            answer,
            chosen: 0,
            typing,
            pressed: None,
            missed: None,
            shown: None,
            is_armed: false,
            is_printed: false,
        }
    }

    /// It comes to the screen. True if its body must be printed, because it has more rows than
    /// there is room for.
    pub(crate) fn show(&mut self, now: Instant, columns: usize, room: usize) -> bool {
        if self.shown.is_some() {
            return false;
        }
        self.shown = Some(now);
        self.is_printed = self.body(columns).len() > room;
        self.is_printed
    }

    /// How the answer is told afterwards.
    pub(crate) fn told(&self, answer: Option<&Answer>) -> String {
        match answer {
            None => "no answer".to_owned(),
            Some(Answer::Text(_)) if self.question.secret => "•••".to_owned(),
            Some(Answer::Text(text)) => text.clone(),
            Some(Answer::Key(key)) => {
                let choice = self.question.choices.iter().find(|choice| choice.key == *key);
                choice.map_or_else(|| key.to_string(), |choice| choice.label.clone())
            }
        }
    }

    pub(crate) fn paste(&mut self, text: &str) -> Reply {
        let can_type = self.question.free_text || self.question.choices.is_empty();
        if !can_type {
            return Reply::NotMine;
        }
        self.typing.get_or_insert_default().insert(text);
        Reply::Open
    }

    /// A key; `last` is when the one before it came.
    pub(crate) fn key(&mut self, key: Key, now: Instant, last: Option<Instant>) -> Reply {
        if !self.is_armed {
            let is_seen = self.shown.is_some_and(|shown| now.duration_since(shown) >= TO_SEE_IT);
            let paused = last.is_none_or(|last| now.duration_since(last) >= PAUSE);
            if !(is_seen && paused) {
                return Reply::NotMine;
            }
            self.is_armed = true;
        }
        if key == Key::ctrl('c') {
            return Reply::Interrupted;
        }
        if self.typing.is_some() { self.type_key(key) } else { self.choose_key(key, now) }
    }

    /// When a key counts as the answer if no other follows it.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.pressed.map(|(_, at)| at + WORD)
    }

    /// What was answered by a key that nothing followed.
    pub(crate) fn settled(&self, now: Instant) -> Option<Answer> {
        let choice = self.question.pressed(self.pressed?.0)?;
        self.due().filter(|due| *due <= now).map(|_| Answer::Key(choice.key))
    }

    fn choose_key(&mut self, key: Key, now: Instant) -> Reply {
        let pressed = self.pressed.take();
        let ways = self.question.choices.len() + usize::from(self.question.free_text);
        match (key.code, key.ctrl || key.alt) {
            (Code::Escape, _) => return Reply::Refused,
            (Code::Up | Code::BackTab, _) => self.chosen = (self.chosen + ways - 1) % ways,
            (Code::Down | Code::Tab, _) => self.chosen = (self.chosen + 1) % ways,
            (Code::Enter, _) => match self.question.choices.get(self.chosen) {
                Some(choice) => return Reply::Answered(Answer::Key(choice.key)),
                None => self.typing = Some(Editor::default()),
            },
            (Code::Char(c), false) => self.letter(c, pressed.map(|(first, _)| first), now),
            _ => {}
        }
        Reply::Open
    }

    /// A key that chooses is an answer once nothing follows it; with what follows, it is a word.
    fn letter(&mut self, c: char, first: Option<char>, now: Instant) {
        let key = self.question.pressed(c).map(|choice| choice.key);
        self.missed = None;
        match (key, first) {
            (Some(key), None) => {
                let choices = &self.question.choices;
                self.chosen = choices.iter().position(|choice| choice.key == key).unwrap_or(0);
                self.pressed = Some((c, now));
            }
            _ => {
                let mut editor = Editor::default();
                first.into_iter().chain([c]).for_each(|c| editor.insert_char(c));
                self.typing = Some(editor);
                self.chosen = 0;
            }
        }
    }

    /// What a typed line answers.
    fn line(&mut self, text: String) -> Reply {
        if self.question.free_text || self.question.choices.is_empty() {
            if text.trim().is_empty() && !self.question.secret {
                return Reply::Open;
            }
            return Reply::Answered(Answer::Text(text));
        }
        if let Some(choice) = self.question.meant(&text) {
            return Reply::Answered(Answer::Key(choice.key));
        }
        if !text.trim().is_empty() {
            // Another Enter must not choose what is preselected.
            self.missed = Some(text);
            self.typing = Some(Editor::default());
        }
        Reply::Open
    }

    fn type_key(&mut self, key: Key) -> Reply {
        let has_choices = !self.question.choices.is_empty();
        let Some(editor) = &mut self.typing else { return Reply::Open };
        match (key.code, key.ctrl, key.alt) {
            (Code::Escape, ..) if has_choices => self.typing = None,
            (Code::Escape, ..) => return Reply::Refused,
            (Code::Enter, false, false) if !key.shift => {
                let text = editor.whole();
                return self.line(text);
            }
            (Code::Enter, ..) | (Code::Char('j'), true, _) => editor.insert("\n"),
            (Code::Backspace, false, false) if editor.is_empty() && has_choices => {
                self.typing = None;
            }
            (Code::Backspace, false, false) => editor.delete(Step::Left),
            (Code::Backspace, ..) | (Code::Char('w'), true, _) => editor.kill(Step::WordLeft),
            (Code::Delete, ..) => editor.delete(Step::Right),
            (Code::Left, ..) => editor.step(Step::Left),
            (Code::Right, ..) => editor.step(Step::Right),
            (Code::Home, ..) | (Code::Char('a'), true, _) => editor.step(Step::LineStart),
            (Code::End, ..) | (Code::Char('e'), true, _) => editor.step(Step::LineEnd),
            (Code::Char('u'), true, _) => editor.kill(Step::LineStart),
            (Code::Char('k'), true, _) => editor.kill(Step::LineEnd),
            (Code::Char(c), false, false) => editor.insert_char(c),
            _ => {}
        }
        Reply::Open
    }

    fn body(&self, columns: usize) -> Vec<Row> {
        let bar = Indent::all(Row::new("  │ ", DIM));
        let mut rows = Vec::new();
        for line in &self.question.body {
            let spans = [Span { text: clean(line), style: PLAIN }];
            rows.extend(wrap(&spans, columns, &bar));
        }
        rows
    }

    /// The rows to show, and the cursor.
    pub(crate) fn live(&self, columns: usize) -> Live {
        let title = [Span { text: one_line(&self.question.title), style: BOLD }];
        let mark = Indent::hanging(Row::new("? ", Colour::Cyan.bold()));
        let mut rows = wrap(&title, columns, &mark);
        if !self.is_printed {
            rows.extend(self.body(columns));
        }
        let mut cursor = (rows.len(), 2);
        for (at, choice) in self.question.choices.iter().enumerate() {
            let is_chosen = at == self.chosen && self.typing.is_none();
            if is_chosen {
                cursor = (rows.len(), 2);
            }
            rows.push(way(is_chosen, &choice.key.to_string(), &one_line(&choice.label), columns));
        }
        if let Some(editor) = &self.typing {
            let prompt = Row::new("  ✎ ", Colour::Cyan.bold());
            let sight = if self.question.secret { Sight::Hidden } else { Sight::Shown };
            let laid = lay_out(editor, &prompt, columns, "", sight).windowed(8);
            cursor = (rows.len() + laid.row, laid.column);
            rows.extend(laid.rows);
        } else if self.question.free_text {
            let is_chosen = self.chosen == self.question.choices.len();
            if is_chosen {
                cursor = (rows.len(), 2);
            }
            rows.push(way(is_chosen, "✎", "something else: type it", columns));
        }
        if let Some(missed) = &self.missed {
            let told = format!("  “{}” is no answer here: type one of the keys", one_line(missed));
            rows.push(Row::new(&told, Colour::Yellow.bold()).clipped(columns));
        }
        let hint = match &self.typing {
            Some(_) if self.question.choices.is_empty() => "  Enter to answer · Esc for none",
            Some(_) => "  Enter to answer · Esc to choose",
            None => "  a key, or ↑ ↓ and Enter · Esc for none",
        };
        rows.push(Row::new(hint, DIM));
        Live { rows, cursor }
    }
}

fn way(is_chosen: bool, key: &str, label: &str, columns: usize) -> Row {
    let style = if is_chosen { Colour::Cyan.bold() } else { PLAIN };
    Row::new(if is_chosen { "  ▸ " } else { "    " }, style)
        .with(key, Colour::Cyan.bold())
        .with("  ", PLAIN)
        .with(label, style)
        .clipped(columns)
}

#[cfg(test)]
#[path = "asking_tests.rs"]
mod tests;
