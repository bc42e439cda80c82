//! The line that is typed: keys, history, search, completion.

use std::path::PathBuf;
use std::sync::Arc;

use super::keys::{Code, Key};
use super::menu::{Menu, Opening};
use super::painter::Live;
use crate::Completer;
use crate::editor::{Editor, History, Sight, Step, Way, lay_out, pasted_paths};
use crate::row::{Colour, DIM, PLAIN, Row};

/// What a key asks of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Nothing,
    Send { text: String, shown: String, files: Vec<PathBuf> },
    ShiftTab,
    Interrupt,
    Quit,
    Suspend,
    Clear,
}

/// A search through the history.
#[derive(Debug)]
struct Search {
    query: String,
    found: Option<usize>,
    /// What was typed before.
    before: Editor,
}

/// The line that is typed, with what helps to type it.
pub(crate) struct Prompt {
    editor: Editor,
    history: History,
    /// The line of the history that is shown, and what was typed before.
    recalled: Option<(usize, Editor)>,
    search: Option<Search>,
    menu: Option<Menu>,
    completer: Option<Arc<dyn Completer>>,
    placeholder: String,
    home: Option<PathBuf>,
}

impl Prompt {
    pub(crate) fn new(
        history: History,
        completer: Option<Arc<dyn Completer>>,
        placeholder: &str,
    ) -> Self {
        Self {
            editor: Editor::default(),
            history,
            recalled: None,
            search: None,
            menu: None,
            completer,
            placeholder: crate::clean::one_line(placeholder),
            home: std::env::home_dir(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    pub(crate) fn fill(&mut self, text: &str) {
        self.editor.set(text);
        self.changed();
    }

    pub(crate) fn paste(&mut self, text: &str) {
        self.search = None;
        match pasted_paths(text, self.home.as_deref()) {
            Some(paths) => paths.into_iter().for_each(|path| self.editor.attach(path)),
            None => self.editor.paste(text),
        }
        self.changed();
    }

    pub(crate) fn key(&mut self, key: Key) -> Wanted {
        if self.search.is_some() && self.search_key(key) {
            return Wanted::Nothing;
        }
        if self.menu_key(key) {
            return Wanted::Nothing;
        }
        if let Some(wanted) = self.command(key) {
            return wanted;
        }
        if !self.moved(key) {
            self.edit(key);
            self.changed();
        }
        Wanted::Nothing
    }

    /// Keys that concern more than the text.
    fn command(&mut self, key: Key) -> Option<Wanted> {
        match (key.code, key.ctrl, key.alt) {
            (Code::Char('c'), true, _) if self.editor.is_empty() => Some(Wanted::Interrupt),
            (Code::Char('c'), true, _) => {
                self.editor.clear();
                self.changed();
                Some(Wanted::Nothing)
            }
            (Code::Char('d'), true, _) if self.editor.is_empty() => Some(Wanted::Quit),
            (Code::Char('z'), true, false) => Some(Wanted::Suspend),
            (Code::Char('l'), true, _) => Some(Wanted::Clear),
            (Code::Char('r'), true, _) => {
                self.start_search();
                Some(Wanted::Nothing)
            }
            (Code::Tab, ..) => {
                self.complete();
                Some(Wanted::Nothing)
            }
            (Code::BackTab, ..) => Some(Wanted::ShiftTab),
            (Code::Enter, false, false) if !key.shift => Some(self.enter()),
            _ => None,
        }
    }

    fn enter(&mut self) -> Wanted {
        let before = self.editor.text().get(..self.editor.cursor()).unwrap_or_default();
        let slashes = before.len() - before.trim_end_matches('\\').len();
        if slashes % 2 == 1 {
            self.editor.delete(Step::Left);
            self.editor.insert("\n");
            self.changed();
            return Wanted::Nothing;
        }
        let (text, shown) = (self.editor.whole(), self.editor.shown());
        let files = self.editor.files();
        if text.trim().is_empty() {
            return Wanted::Nothing;
        }
        self.history.add(&text);
        self.editor.clear();
        self.changed();
        let [text, shown] = [text, shown].map(|text| text.trim_end().to_owned());
        Wanted::Send { text, shown, files }
    }

    /// Keys that move the cursor, or through the history.
    fn moved(&mut self, key: Key) -> bool {
        let by_word = key.ctrl || key.alt;
        let step = match (key.code, key.ctrl, key.alt) {
            (Code::Left, ..) if by_word => Step::WordLeft,
            (Code::Right, ..) if by_word => Step::WordRight,
            (Code::Char('b'), false, true) => Step::WordLeft,
            (Code::Char('f'), false, true) => Step::WordRight,
            (Code::Left, ..) | (Code::Char('b'), true, _) => Step::Left,
            (Code::Right | Code::End, ..) | (Code::Char('f' | 'e'), true, _)
                if self.editor.is_at_end() && !self.ghost().is_empty() =>
            {
                let ghost = self.ghost();
                self.editor.insert(&ghost);
                self.changed();
                return true;
            }
            (Code::Right, ..) | (Code::Char('f'), true, _) => Step::Right,
            (Code::Home, true, _) | (Code::Char('<'), false, true) => Step::TextStart,
            (Code::End, true, _) | (Code::Char('>'), false, true) => Step::TextEnd,
            (Code::Home, ..) | (Code::Char('a'), true, _) => Step::LineStart,
            (Code::End, ..) | (Code::Char('e'), true, _) => Step::LineEnd,
            (Code::Up, ..) | (Code::Char('p'), true, _) => {
                if !self.editor.step_line(Way::Up) {
                    self.recall(Way::Up);
                }
                return true;
            }
            (Code::Down, ..) | (Code::Char('n'), true, _) => {
                if !self.editor.step_line(Way::Down) {
                    self.recall(Way::Down);
                }
                return true;
            }
            _ => return false,
        };
        self.editor.step(step);
        self.menu = None;
        true
    }

    fn edit(&mut self, key: Key) {
        let editor = &mut self.editor;
        match (key.code, key.ctrl, key.alt) {
            (Code::Enter, ..) | (Code::Char('j' | 'o'), true, _) => editor.insert("\n"),
            (Code::Backspace, true, _) | (Code::Backspace, _, true) => editor.kill(Step::WordLeft),
            (Code::Backspace, ..) | (Code::Char('h'), true, _) => editor.delete(Step::Left),
            (Code::Delete, true, _) | (Code::Delete, _, true) | (Code::Char('d'), false, true) => {
                editor.kill(Step::WordRight);
            }
            (Code::Delete, ..) | (Code::Char('d'), true, _) => editor.delete(Step::Right),
            (Code::Char('w'), true, _) => editor.kill(Step::WordLeft),
            (Code::Char('k'), true, _) => {
                let at_line_end = editor.text().get(editor.cursor()..).unwrap_or_default();
                let step = if at_line_end.starts_with('\n') { Step::Right } else { Step::LineEnd };
                editor.kill(step);
            }
            (Code::Char('u'), true, _) => editor.kill(Step::LineStart),
            (Code::Char('y'), true, _) => editor.yank(),
            (Code::Char('_' | '/' | '-' | '7'), true, _) => editor.undo(),
            (Code::Char('_' | '-'), false, true) => editor.redo(),
            (Code::Char(c), false, false) => editor.insert_char(c),
            _ => {}
        }
    }

    fn recall(&mut self, way: Way) {
        let at = self.recalled.as_ref().map_or(self.history.len(), |(at, _)| *at);
        let next = match way {
            Way::Down => at + 1,
            Way::Up => at.wrapping_sub(1),
        };
        if let Some(line) = self.history.get(next) {
            let line = line.to_owned();
            let before = match self.recalled.take() {
                Some((_, before)) => before,
                None => std::mem::take(&mut self.editor),
            };
            self.editor.set(&line);
            self.recalled = Some((next, before));
        } else if way == Way::Down
            && let Some((_, before)) = self.recalled.take()
        {
            self.editor = before;
        }
        self.menu = None;
    }

    fn start_search(&mut self) {
        let before = self.editor.clone();
        self.search = Some(Search { query: String::new(), found: None, before });
        self.menu = None;
    }

    /// Keys while a search is on; false if the key ends it and has a meaning of its own.
    fn search_key(&mut self, key: Key) -> bool {
        let Some(search) = &mut self.search else { return false };
        let older = match (key.code, key.ctrl, key.alt) {
            (Code::Char('r'), true, _) => search.found,
            (Code::Char(c), false, false) => {
                search.query.push(c);
                None
            }
            (Code::Backspace, ..) => {
                search.query.pop();
                None
            }
            (Code::Escape, ..) | (Code::Char('g' | 'c'), true, _) => {
                self.editor = search.before.clone();
                self.search = None;
                return true;
            }
            (Code::Enter | Code::Tab, ..) => {
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
            // An older one is not there: the last that was found stays.
            _ if older.is_none() => {
                search.found = None;
                self.editor = search.before.clone();
            }
            _ => {}
        }
        true
    }

    /// Keys while a menu is open; false if they mean what they always mean.
    fn menu_key(&mut self, key: Key) -> bool {
        let Some(menu) = &mut self.menu else { return false };
        match key.code {
            Code::BackTab => menu.step(-1),
            Code::Tab if menu.is_chosen() && menu.len() > 1 => menu.step(1),
            Code::Up if menu.is_chosen() || menu.is_automatic() => menu.step(-1),
            Code::Down => menu.step(1),
            Code::Escape => {
                self.menu = None;
                return true;
            }
            Code::Enter if menu.is_chosen() && !key.alt && !key.shift => {
                self.accept();
                return true;
            }
            _ => return false,
        }
        true
    }

    fn complete(&mut self) {
        if self.menu.is_none() {
            self.open_menu(Opening::Wanted);
        }
        let Some(menu) = &mut self.menu else { return };
        if menu.len() == 1 {
            menu.step(1);
            self.accept();
            return;
        }
        // As far as all agree, nobody has to choose.
        let common = menu.common();
        let typed = self.editor.text().get(menu.start()..self.editor.cursor()).unwrap_or_default();
        if common.len() > typed.len() && common.starts_with(typed) {
            let start = menu.start();
            self.editor.complete(start, &common);
            self.open_menu(Opening::Wanted);
        } else {
            menu.step(1);
        }
    }

    fn accept(&mut self) {
        let Some(menu) = self.menu.take() else { return };
        if let Some(candidate) = menu.chosen() {
            self.editor.complete(menu.start(), &candidate.text.clone());
            self.recalled = None;
            // A folder or a command may go on.
            self.open_menu(Opening::Automatic);
        }
    }

    fn open_menu(&mut self, opening: Opening) {
        let typed = self.editor.text();
        let is_command = typed.starts_with('/') && !typed.contains('\n');
        self.menu = match &self.completer {
            Some(completer)
                if opening == Opening::Wanted || (is_command && self.editor.is_at_end()) =>
            {
                Menu::new(completer.complete(typed, self.editor.cursor()), opening, typed)
            }
            _ => None,
        };
    }

    /// The text is another one.
    fn changed(&mut self) {
        if self.recalled.is_some() && self.editor.is_empty() {
            self.recalled = None;
        }
        self.open_menu(Opening::Automatic);
    }

    /// How the line may go on, if the person wants it to.
    fn ghost(&self) -> String {
        let typed = self.editor.text();
        if typed.is_empty() || !self.editor.is_at_end() || self.search.is_some() {
            return String::new();
        }
        let line = match &self.menu {
            Some(menu) => menu.ghost(typed),
            None => self.history.begins_with(typed).map(str::to_owned),
        };
        let ghost = line.and_then(|line| line.strip_prefix(typed).map(str::to_owned));
        // Only what can be seen may be taken.
        ghost.filter(|ghost| !ghost.contains('\n')).unwrap_or_default()
    }

    /// The rows to show, in so many columns and at most so many rows.
    pub(crate) fn live(&self, columns: usize, most: usize) -> Live {
        let mark = match self.search {
            Some(_) => Row::new("⌕ ", Colour::Yellow.bold()),
            None => Row::new("❯ ", Colour::Blue.bold()),
        };
        let ghost = if self.editor.is_empty() { self.placeholder.clone() } else { self.ghost() };
        let laid = lay_out(&self.editor, &mark, columns, &ghost, Sight::Shown).windowed(most);
        let mut live = Live { rows: laid.rows, cursor: (laid.row, laid.column) };
        if let Some(search) = &self.search {
            let is_missing = search.found.is_none() && !search.query.is_empty();
            let hint = if is_missing { "  nothing found" } else { "  Ctrl-R for older ones" };
            let row = Row::new("  search: ", DIM).with(&search.query, PLAIN).with(hint, DIM);
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
