//! A question on the screen.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::keys::{KeyCode, KeyPress};
use super::painter::LiveArea;
use crate::editor::{CursorMove, InputVisibility, LineEditor, layout_input};
use crate::row::{AnsiColour, BOLD_STYLE, DIM_STYLE, PLAIN_STYLE, StyledRow, StyledSpan};
use crate::sanitize::{one_line, sanitize};
use crate::wrap::{RowIndent, wrap};
use crate::{QuestionAnswer, UserQuestion};

/// A user who is typing when a question appears has not read it yet: keys count
/// as answers only after a pause.
const READING_DELAY: Duration = Duration::from_millis(250);
const TYPING_PAUSE: Duration = Duration::from_millis(500);
/// A key may be the first letter of a word, and “stop” is not “s”: it counts
/// only if no key follows within this time.
const KEY_CONFIRM_DELAY: Duration = Duration::from_millis(600);

/// Outcome of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyResult {
    /// The question used the key and is still open.
    Consumed,
    /// The question did not use the key.
    Unhandled,
    Answered(QuestionAnswer),
    Refused,
    /// Refused, and all other work must stop too.
    Interrupted,
}

/// A question and the state of its answer.
#[derive(Debug)]
pub(crate) struct QuestionPrompt {
    pub(crate) number: u64,
    pub(crate) question: UserQuestion,
    pub(crate) answer: oneshot::Sender<Option<QuestionAnswer>>,
    selected: usize,
    editor: Option<LineEditor>,
    /// An unconfirmed key, and when it was pressed.
    pressed: Option<(char, Instant)>,
    /// A submitted line that is not a valid answer.
    rejected_line: Option<String>,
    /// When the question was first shown.
    shown_since: Option<Instant>,
    is_armed: bool,
    /// Whether the body was too long for the live area and was printed above.
    is_printed: bool,
}

impl QuestionPrompt {
    pub(crate) fn new(
        number: u64,
        question: UserQuestion,
        answer: oneshot::Sender<Option<QuestionAnswer>>,
    ) -> Self {
        let typing = question.choices.is_empty().then(LineEditor::default);
        Self {
            number,
            question,
            answer,
            selected: 0,
            editor: typing,
            pressed: None,
            rejected_line: None,
            shown_since: None,
            is_armed: false,
            is_printed: false,
        }
    }

    /// Marks the question as shown. Returns true if its body has more than
    /// `room` rows and must be printed.
    pub(crate) fn show(&mut self, now: Instant, columns: usize, room: usize) -> bool {
        if self.shown_since.is_some() {
            return false;
        }
        self.shown_since = Some(now);
        self.is_printed = self.body(columns).len() > room;
        self.is_printed
    }

    /// Describes the answer for the transcript.
    pub(crate) fn describe_answer(&self, answer: Option<&QuestionAnswer>) -> String {
        match answer {
            None => "no answer".to_owned(),
            Some(QuestionAnswer::Text(_)) if self.question.secret => "•••".to_owned(),
            Some(QuestionAnswer::Text(text)) => text.clone(),
            Some(QuestionAnswer::Key(key)) => {
                let choice = self.question.choices.iter().find(|choice| choice.key == *key);
                choice.map_or_else(|| key.to_string(), |choice| choice.label.clone())
            }
        }
    }

    pub(crate) fn paste(&mut self, text: &str) -> KeyResult {
        let can_type = self.question.free_text || self.question.choices.is_empty();
        if !can_type {
            return KeyResult::Unhandled;
        }
        self.editor.get_or_insert_default().insert(text);
        KeyResult::Consumed
    }

    /// Handles a key; `last` is the time of the previous one.
    pub(crate) fn on_key(
        &mut self,
        key: KeyPress,
        now: Instant,
        last: Option<Instant>,
    ) -> KeyResult {
        if !self.is_armed {
            let is_seen =
                self.shown_since.is_some_and(|shown| now.duration_since(shown) >= READING_DELAY);
            let paused = last.is_none_or(|last| now.duration_since(last) >= TYPING_PAUSE);
            if !(is_seen && paused) {
                return KeyResult::Unhandled;
            }
            self.is_armed = true;
        }
        if key == KeyPress::ctrl('c') {
            return KeyResult::Interrupted;
        }
        if self.editor.is_some() { self.on_editor_key(key) } else { self.on_choice_key(key, now) }
    }

    /// Returns when a pressed key counts as the answer if no other follows.
    pub(crate) fn confirm_at(&self) -> Option<Instant> {
        self.pressed.map(|(_, at)| at + KEY_CONFIRM_DELAY)
    }

    /// Returns the answer given by a pressed key, once confirmed.
    pub(crate) fn confirmed_answer(&self, now: Instant) -> Option<QuestionAnswer> {
        let choice = self.question.choice_for_key(self.pressed?.0)?;
        self.confirm_at().filter(|due| *due <= now).map(|_| QuestionAnswer::Key(choice.key))
    }

    fn on_choice_key(&mut self, key: KeyPress, now: Instant) -> KeyResult {
        let pressed = self.pressed.take();
        let ways = self.question.choices.len() + usize::from(self.question.free_text);
        match (key.code, key.ctrl || key.alt) {
            (KeyCode::Escape, _) => return KeyResult::Refused,
            (KeyCode::Up | KeyCode::BackTab, _) => {
                self.selected = (self.selected + ways - 1) % ways
            }
            (KeyCode::Down | KeyCode::Tab, _) => self.selected = (self.selected + 1) % ways,
            (KeyCode::Enter, _) => match self.question.choices.get(self.selected) {
                Some(choice) => return KeyResult::Answered(QuestionAnswer::Key(choice.key)),
                None => self.editor = Some(LineEditor::default()),
            },
            (KeyCode::Char(c), false) => self.on_letter(c, pressed.map(|(first, _)| first), now),
            _ => {}
        }
        KeyResult::Consumed
    }

    /// A choice key counts as the answer if no key follows; otherwise it starts
    /// a word.
    fn on_letter(&mut self, c: char, first: Option<char>, now: Instant) {
        let key = self.question.choice_for_key(c).map(|choice| choice.key);
        self.rejected_line = None;
        match (key, first) {
            (Some(key), None) => {
                let choices = &self.question.choices;
                self.selected = choices.iter().position(|choice| choice.key == key).unwrap_or(0);
                self.pressed = Some((c, now));
            }
            _ => {
                let mut editor = LineEditor::default();
                first.into_iter().chain([c]).for_each(|c| editor.insert_char(c));
                self.editor = Some(editor);
                self.selected = 0;
            }
        }
    }

    /// Submits a typed line as the answer.
    fn submit_line(&mut self, text: String) -> KeyResult {
        if self.question.free_text || self.question.choices.is_empty() {
            if text.trim().is_empty() && !self.question.secret {
                return KeyResult::Consumed;
            }
            return KeyResult::Answered(QuestionAnswer::Text(text));
        }
        if let Some(choice) = self.question.choice_for_line(&text) {
            return KeyResult::Answered(QuestionAnswer::Key(choice.key));
        }
        if !text.trim().is_empty() {
            // Keep the editor open, so another Enter does not select the
            // preselected choice.
            self.rejected_line = Some(text);
            self.editor = Some(LineEditor::default());
        }
        KeyResult::Consumed
    }

    fn on_editor_key(&mut self, key: KeyPress) -> KeyResult {
        let has_choices = !self.question.choices.is_empty();
        let Some(editor) = &mut self.editor else { return KeyResult::Consumed };
        match (key.code, key.ctrl, key.alt) {
            (KeyCode::Escape, ..) if has_choices => self.editor = None,
            (KeyCode::Escape, ..) => return KeyResult::Refused,
            (KeyCode::Enter, false, false) if !key.shift => {
                let text = editor.expanded_text();
                return self.submit_line(text);
            }
            (KeyCode::Enter, ..) | (KeyCode::Char('j'), true, _) => editor.insert("\n"),
            (KeyCode::Backspace, false, false) if editor.is_empty() && has_choices => {
                self.editor = None;
            }
            (KeyCode::Backspace, false, false) => editor.delete(CursorMove::Left),
            (KeyCode::Backspace, ..) | (KeyCode::Char('w'), true, _) => {
                editor.kill(CursorMove::WordLeft)
            }
            (KeyCode::Delete, ..) => editor.delete(CursorMove::Right),
            (KeyCode::Left, ..) => editor.move_cursor(CursorMove::Left),
            (KeyCode::Right, ..) => editor.move_cursor(CursorMove::Right),
            (KeyCode::Home, ..) | (KeyCode::Char('a'), true, _) => {
                editor.move_cursor(CursorMove::LineStart)
            }
            (KeyCode::End, ..) | (KeyCode::Char('e'), true, _) => {
                editor.move_cursor(CursorMove::LineEnd)
            }
            (KeyCode::Char('u'), true, _) => editor.kill(CursorMove::LineStart),
            (KeyCode::Char('k'), true, _) => editor.kill(CursorMove::LineEnd),
            (KeyCode::Char(c), false, false) => editor.insert_char(c),
            _ => {}
        }
        KeyResult::Consumed
    }

    fn body(&self, columns: usize) -> Vec<StyledRow> {
        let bar = RowIndent::all(StyledRow::new("  │ ", DIM_STYLE));
        let mut rows = Vec::new();
        for line in &self.question.body {
            let spans = [StyledSpan { text: sanitize(line), style: PLAIN_STYLE }];
            rows.extend(wrap(&spans, columns, &bar));
        }
        rows
    }

    /// Returns the rows to show, and the cursor.
    pub(crate) fn live_area(&self, columns: usize) -> LiveArea {
        let title = [StyledSpan { text: one_line(&self.question.title), style: BOLD_STYLE }];
        let mark = RowIndent::hanging(StyledRow::new("? ", AnsiColour::Cyan.bold()));
        let mut rows = wrap(&title, columns, &mark);
        if !self.is_printed {
            rows.extend(self.body(columns));
        }
        let mut cursor = (rows.len(), 2);
        for (at, choice) in self.question.choices.iter().enumerate() {
            let is_chosen = at == self.selected && self.editor.is_none();
            if is_chosen {
                cursor = (rows.len(), 2);
            }
            rows.push(choice_row(
                is_chosen,
                &choice.key.to_string(),
                &one_line(&choice.label),
                columns,
            ));
        }
        if let Some(editor) = &self.editor {
            let prompt = StyledRow::new("  ✎ ", AnsiColour::Cyan.bold());
            let sight =
                if self.question.secret { InputVisibility::Hidden } else { InputVisibility::Shown };
            let laid = layout_input(editor, &prompt, columns, "", sight).around_cursor(8);
            cursor = (rows.len() + laid.row, laid.column);
            rows.extend(laid.rows);
        } else if self.question.free_text {
            let is_chosen = self.selected == self.question.choices.len();
            if is_chosen {
                cursor = (rows.len(), 2);
            }
            rows.push(choice_row(is_chosen, "✎", "another answer: type it", columns));
        }
        if let Some(missed) = &self.rejected_line {
            let shown =
                format!("  “{}” is not a valid answer: type one of the keys", one_line(missed));
            rows.push(StyledRow::new(&shown, AnsiColour::Yellow.bold()).clipped(columns));
        }
        let hint = match &self.editor {
            Some(_) if self.question.choices.is_empty() => "  Enter to answer · Esc for no answer",
            Some(_) => "  Enter to answer · Esc to return to the choices",
            None => "  press a key, or ↑ ↓ and Enter · Esc for no answer",
        };
        rows.push(StyledRow::new(hint, DIM_STYLE));
        LiveArea { rows, cursor }
    }
}

fn choice_row(is_chosen: bool, key: &str, label: &str, columns: usize) -> StyledRow {
    let style = if is_chosen { AnsiColour::Cyan.bold() } else { PLAIN_STYLE };
    StyledRow::new(if is_chosen { "  ▸ " } else { "    " }, style)
        .with(key, AnsiColour::Cyan.bold())
        .with("  ", PLAIN_STYLE)
        .with(label, style)
        .clipped(columns)
}

#[cfg(test)]
#[path = "question_prompt_tests.rs"]
mod tests;
