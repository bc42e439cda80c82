//! The input line: keys, history, search, completion.

use std::path::PathBuf;
use std::sync::Arc;

use super::keys::{KeyCode, KeyPress};
use super::menu::{CompletionMenu, MenuTrigger};
use super::painter::LiveArea;
use crate::LineCompleter;
use crate::editor::{
    CursorMove, InputHistory, InputVisibility, LineDirection, LineEditor, layout_input,
    pasted_paths,
};
use crate::row::{AnsiColour, DIM_STYLE, PLAIN_STYLE, StyledRow};

/// An action that a key requests from the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptAction {
    Nothing,
    Submit { text: String, shown: String, files: Vec<PathBuf> },
    ShiftTab,
    Interrupt,
    Quit,
    Suspend,
    Clear,
}

/// A history search.
#[derive(Debug)]
struct HistorySearch {
    query: String,
    found: Option<usize>,
    /// The input before the search.
    before: LineEditor,
}

/// The input line with history, search and completion.
pub(crate) struct LinePrompt {
    editor: LineEditor,
    history: InputHistory,
    /// Index of the history line shown, and the input before it.
    recalled: Option<(usize, LineEditor)>,
    search: Option<HistorySearch>,
    menu: Option<CompletionMenu>,
    completer: Option<Arc<dyn LineCompleter>>,
    placeholder: String,
    home: Option<PathBuf>,
}

impl LinePrompt {
    pub(crate) fn new(
        history: InputHistory,
        completer: Option<Arc<dyn LineCompleter>>,
        placeholder: &str,
    ) -> Self {
        Self {
            editor: LineEditor::default(),
            history,
            recalled: None,
            search: None,
            menu: None,
            completer,
            placeholder: crate::sanitize::one_line(placeholder),
            home: std::env::home_dir(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    pub(crate) fn fill(&mut self, text: &str) {
        self.editor.set(text);
        self.on_text_changed();
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.search = None;
        match pasted_paths(text, self.home.as_deref()) {
            Some(paths) => paths.into_iter().for_each(|path| self.editor.attach(path)),
            None => self.editor.paste(text),
        }
        self.on_text_changed();
    }

    pub(crate) fn on_key(&mut self, key: KeyPress) -> PromptAction {
        if self.search.is_some() && self.on_search_key(key) {
            return PromptAction::Nothing;
        }
        if self.on_menu_key(key) {
            return PromptAction::Nothing;
        }
        if let Some(wanted) = self.on_command_key(key) {
            return wanted;
        }
        if !self.on_move_key(key) {
            self.on_edit_key(key);
            self.on_text_changed();
        }
        PromptAction::Nothing
    }

    /// Handles keys that do more than edit the text.
    fn on_command_key(&mut self, key: KeyPress) -> Option<PromptAction> {
        match (key.code, key.ctrl, key.alt) {
            (KeyCode::Char('c'), true, _) if self.editor.is_empty() => {
                Some(PromptAction::Interrupt)
            }
            (KeyCode::Char('c'), true, _) => {
                self.editor.clear();
                self.on_text_changed();
                Some(PromptAction::Nothing)
            }
            (KeyCode::Char('d'), true, _) if self.editor.is_empty() => Some(PromptAction::Quit),
            (KeyCode::Char('z'), true, false) => Some(PromptAction::Suspend),
            (KeyCode::Char('l'), true, _) => Some(PromptAction::Clear),
            (KeyCode::Char('r'), true, _) => {
                self.start_search();
                Some(PromptAction::Nothing)
            }
            (KeyCode::Tab, ..) => {
                self.complete();
                Some(PromptAction::Nothing)
            }
            (KeyCode::BackTab, ..) => Some(PromptAction::ShiftTab),
            (KeyCode::Enter, false, false) if !key.shift => Some(self.enter()),
            _ => None,
        }
    }

    fn enter(&mut self) -> PromptAction {
        let before = self.editor.text().get(..self.editor.cursor()).unwrap_or_default();
        let slashes = before.len() - before.trim_end_matches('\\').len();
        if slashes % 2 == 1 {
            self.editor.delete(CursorMove::Left);
            self.editor.insert("\n");
            self.on_text_changed();
            return PromptAction::Nothing;
        }
        let (text, shown) = (self.editor.expanded_text(), self.editor.displayed_text());
        let files = self.editor.files();
        if text.trim().is_empty() {
            return PromptAction::Nothing;
        }
        self.history.add(&text);
        self.editor.clear();
        self.on_text_changed();
        let [text, shown] = [text, shown].map(|text| text.trim_end().to_owned());
        PromptAction::Submit { text, shown, files }
    }

    /// Handles keys that move the cursor or recall history.
    fn on_move_key(&mut self, key: KeyPress) -> bool {
        let by_word = key.ctrl || key.alt;
        let step = match (key.code, key.ctrl, key.alt) {
            (KeyCode::Left, ..) if by_word => CursorMove::WordLeft,
            (KeyCode::Right, ..) if by_word => CursorMove::WordRight,
            (KeyCode::Char('b'), false, true) => CursorMove::WordLeft,
            (KeyCode::Char('f'), false, true) => CursorMove::WordRight,
            (KeyCode::Left, ..) | (KeyCode::Char('b'), true, _) => CursorMove::Left,
            (KeyCode::Right | KeyCode::End, ..) | (KeyCode::Char('f' | 'e'), true, _)
                if self.editor.is_at_end() && !self.suggestion().is_empty() =>
            {
                let ghost = self.suggestion();
                self.editor.insert(&ghost);
                self.on_text_changed();
                return true;
            }
            (KeyCode::Right, ..) | (KeyCode::Char('f'), true, _) => CursorMove::Right,
            (KeyCode::Home, true, _) | (KeyCode::Char('<'), false, true) => CursorMove::TextStart,
            (KeyCode::End, true, _) | (KeyCode::Char('>'), false, true) => CursorMove::TextEnd,
            (KeyCode::Home, ..) | (KeyCode::Char('a'), true, _) => CursorMove::LineStart,
            (KeyCode::End, ..) | (KeyCode::Char('e'), true, _) => CursorMove::LineEnd,
            (KeyCode::Up, ..) | (KeyCode::Char('p'), true, _) => {
                if !self.editor.move_line(LineDirection::Up) {
                    self.recall(LineDirection::Up);
                }
                return true;
            }
            (KeyCode::Down, ..) | (KeyCode::Char('n'), true, _) => {
                if !self.editor.move_line(LineDirection::Down) {
                    self.recall(LineDirection::Down);
                }
                return true;
            }
            _ => return false,
        };
        self.editor.move_cursor(step);
        self.menu = None;
        true
    }

    fn on_edit_key(&mut self, key: KeyPress) {
        let editor = &mut self.editor;
        match (key.code, key.ctrl, key.alt) {
            (KeyCode::Enter, ..) | (KeyCode::Char('j' | 'o'), true, _) => editor.insert("\n"),
            (KeyCode::Backspace, true, _) | (KeyCode::Backspace, _, true) => {
                editor.kill(CursorMove::WordLeft)
            }
            (KeyCode::Backspace, ..) | (KeyCode::Char('h'), true, _) => {
                editor.delete(CursorMove::Left)
            }
            (KeyCode::Delete, true, _)
            | (KeyCode::Delete, _, true)
            | (KeyCode::Char('d'), false, true) => {
                editor.kill(CursorMove::WordRight);
            }
            (KeyCode::Delete, ..) | (KeyCode::Char('d'), true, _) => {
                editor.delete(CursorMove::Right)
            }
            (KeyCode::Char('w'), true, _) => editor.kill(CursorMove::WordLeft),
            (KeyCode::Char('k'), true, _) => {
                let at_line_end = editor.text().get(editor.cursor()..).unwrap_or_default();
                let step = if at_line_end.starts_with('\n') {
                    CursorMove::Right
                } else {
                    CursorMove::LineEnd
                };
                editor.kill(step);
            }
            (KeyCode::Char('u'), true, _) => editor.kill(CursorMove::LineStart),
            (KeyCode::Char('y'), true, _) => editor.yank(),
            (KeyCode::Char('_' | '/' | '-' | '7'), true, _) => editor.undo(),
            (KeyCode::Char('_' | '-'), false, true) => editor.redo(),
            (KeyCode::Char(c), false, false) => editor.insert_char(c),
            _ => {}
        }
    }

    fn recall(&mut self, way: LineDirection) {
        let at = self.recalled.as_ref().map_or(self.history.len(), |(at, _)| *at);
        let next = match way {
            LineDirection::Down => at + 1,
            LineDirection::Up => at.wrapping_sub(1),
        };
        if let Some(line) = self.history.get(next) {
            let line = line.to_owned();
            let before = match self.recalled.take() {
                Some((_, before)) => before,
                None => std::mem::take(&mut self.editor),
            };
            self.editor.set(&line);
            self.recalled = Some((next, before));
        } else if way == LineDirection::Down
            && let Some((_, before)) = self.recalled.take()
        {
            self.editor = before;
        }
        self.menu = None;
    }

    fn start_search(&mut self) {
        let before = self.editor.clone();
        self.search = Some(HistorySearch { query: String::new(), found: None, before });
        self.menu = None;
    }

    /// Handles a key during a search; returns false if it ends the search and
    /// must be handled further.
    fn on_search_key(&mut self, key: KeyPress) -> bool {
        let Some(search) = &mut self.search else { return false };
        let older = match (key.code, key.ctrl, key.alt) {
            (KeyCode::Char('r'), true, _) => search.found,
            (KeyCode::Char(c), false, false) => {
                search.query.push(c);
                None
            }
            (KeyCode::Backspace, ..) => {
                search.query.pop();
                None
            }
            (KeyCode::Escape, ..) | (KeyCode::Char('g' | 'c'), true, _) => {
                self.editor = search.before.clone();
                self.search = None;
                return true;
            }
            (KeyCode::Enter | KeyCode::Tab, ..) => {
                self.search = None;
                return true;
            }
            _ => {
                self.search = None;
                return false;
            }
        };
        let end = older.unwrap_or(self.history.len());
        match self.history.find(&search.query, end) {
            Some(found) if !search.query.is_empty() => {
                search.found = Some(found);
                let line = self.history.get(found).unwrap_or_default().to_owned();
                self.editor.set(&line);
            }
            // Without an older match the last one stays.
            _ if older.is_none() => {
                search.found = None;
                self.editor = search.before.clone();
            }
            _ => {}
        }
        true
    }

    /// Handles a key while a menu is open; returns false if the menu does not
    /// use it.
    fn on_menu_key(&mut self, key: KeyPress) -> bool {
        let Some(menu) = &mut self.menu else { return false };
        match key.code {
            KeyCode::BackTab => menu.move_selection(-1),
            KeyCode::Tab if menu.has_selection() && menu.len() > 1 => menu.move_selection(1),
            KeyCode::Up if menu.has_selection() || menu.is_automatic() => menu.move_selection(-1),
            KeyCode::Down => menu.move_selection(1),
            KeyCode::Escape => {
                self.menu = None;
                return true;
            }
            KeyCode::Enter if menu.has_selection() && !key.alt && !key.shift => {
                self.accept_candidate();
                return true;
            }
            _ => return false,
        }
        true
    }

    fn complete(&mut self) {
        if self.menu.is_none() {
            self.open_menu(MenuTrigger::Requested);
        }
        let Some(menu) = &mut self.menu else { return };
        if menu.len() == 1 {
            menu.move_selection(1);
            self.accept_candidate();
            return;
        }
        // The common prefix needs no selection.
        let common = menu.common_prefix();
        let typed = self.editor.text().get(menu.start()..self.editor.cursor()).unwrap_or_default();
        if common.len() > typed.len() && common.starts_with(typed) {
            let start = menu.start();
            self.editor.complete(start, &common);
            self.open_menu(MenuTrigger::Requested);
        } else {
            menu.move_selection(1);
        }
    }

    fn accept_candidate(&mut self) {
        let Some(menu) = self.menu.take() else { return };
        if let Some(candidate) = menu.selected() {
            self.editor.complete(menu.start(), &candidate.text.clone());
            self.recalled = None;
            // A directory or a command may have further completions.
            self.open_menu(MenuTrigger::Automatic);
        }
    }

    fn open_menu(&mut self, opening: MenuTrigger) {
        let typed = self.editor.text();
        let is_command = typed.starts_with('/') && !typed.contains('\n');
        self.menu = match &self.completer {
            Some(completer)
                if opening == MenuTrigger::Requested || (is_command && self.editor.is_at_end()) =>
            {
                CompletionMenu::new(completer.complete(typed, self.editor.cursor()), opening, typed)
            }
            _ => None,
        };
    }

    /// Updates state that depends on the text.
    fn on_text_changed(&mut self) {
        if self.recalled.is_some() && self.editor.is_empty() {
            self.recalled = None;
        }
        self.open_menu(MenuTrigger::Automatic);
    }

    /// Returns the suggested continuation of the line.
    fn suggestion(&self) -> String {
        let typed = self.editor.text();
        if typed.is_empty() || !self.editor.is_at_end() || self.search.is_some() {
            return String::new();
        }
        let line = match &self.menu {
            Some(menu) => menu.preview_line(typed),
            None => self.history.latest_with_prefix(typed).map(str::to_owned),
        };
        let ghost = line.and_then(|line| line.strip_prefix(typed).map(str::to_owned));
        // Suggest only what can be shown.
        ghost.filter(|ghost| !ghost.contains('\n')).unwrap_or_default()
    }

    /// Returns the rows to show, at most `columns` wide and `most` rows of
    /// input.
    pub(crate) fn live_area(&self, columns: usize, most: usize) -> LiveArea {
        let mark = match self.search {
            Some(_) => StyledRow::new("⌕ ", AnsiColour::Yellow.bold()),
            None => StyledRow::new("❯ ", AnsiColour::Blue.bold()),
        };
        let ghost =
            if self.editor.is_empty() { self.placeholder.clone() } else { self.suggestion() };
        let laid = layout_input(&self.editor, &mark, columns, &ghost, InputVisibility::Shown)
            .around_cursor(most);
        let mut live = LiveArea { rows: laid.rows, cursor: (laid.row, laid.column) };
        if let Some(search) = &self.search {
            let is_missing = search.found.is_none() && !search.query.is_empty();
            let hint = if is_missing { "  nothing found" } else { "  Ctrl-R for older matches" };
            let row = StyledRow::new("  search: ", DIM_STYLE)
                .with(&search.query, PLAIN_STYLE)
                .with(hint, DIM_STYLE);
            live.rows.push(row);
        }
        if let Some(menu) = &self.menu {
            live.rows.extend(menu.rows(columns));
        }
        live
    }
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
