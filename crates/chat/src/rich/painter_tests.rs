use super::*;
use crate::row::{ColourSupport, PLAIN_STYLE};

fn rows(texts: &[&str]) -> Vec<StyledRow> {
    texts.iter().map(|text| StyledRow::new(text, PLAIN_STYLE)).collect()
}

fn live(texts: &[&str], cursor: (usize, usize)) -> LiveArea {
    LiveArea { rows: rows(texts), cursor }
}

fn terminal(height: u16, columns: u16) -> vt100::Parser {
    let size = |size: u16| std::num::NonZero::new(size).unwrap();
    vt100::Parser::new(size(height), size(columns), 1_000)
}

struct Screen {
    painter: ScreenPainter,
    terminal: vt100::Parser,
}

impl Screen {
    fn new(height: u16, columns: u16) -> Self {
        let abilities = TerminalCapabilities { palette: ColourSupport::Full, reflows: true };
        let painter = ScreenPainter::new((columns.into(), height.into()), abilities);
        Self { painter, terminal: terminal(height, columns) }
    }

    fn draw(&mut self, printed: &[&str], live: LiveArea) {
        let bytes = self.painter.draw(&rows(printed), live);
        self.terminal.process(bytes.as_bytes());
    }

    fn lines(&self) -> Vec<String> {
        let text = self.terminal.screen().contents();
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

#[test]
fn live_rows_stay_below_what_is_printed() {
    let mut screen = Screen::new(6, 20);
    screen.draw(&[], live(&["> hi", "status"], (0, 4)));
    screen.draw(&["one", "two"], live(&["> hi!", "status"], (0, 5)));
    assert_eq!(screen.lines(), ["one", "two", "> hi!", "status"]);
    assert_eq!(screen.terminal.screen().cursor_position(), (2, 5));
    // Past the bottom everything moves up.
    screen.draw(&["three", "four", "five"], live(&["work", "> ", "status"], (1, 2)));
    assert_eq!(
        screen.lines(),
        ["three", "four", "five", "work", "> ", "status"].map(str::trim_end)
    );
    assert_eq!(screen.terminal.screen().cursor_position(), (4, 2));
    // Fewer rows leave nothing behind.
    screen.draw(&[], live(&["> "], (0, 2)));
    assert_eq!(screen.lines(), ["three", "four", "five", ">"]);
}

#[test]
fn only_what_differs_is_written() {
    let mut screen = Screen::new(6, 40);
    screen.draw(&[], live(&["spin 1", "> a long line of text", "status"], (1, 3)));
    let bytes =
        screen.painter.draw(&[], live(&["spin 2", "> a long line of text", "status"], (1, 3)));
    assert!(bytes.contains("spin 2") && !bytes.contains("status"), "{bytes:?}");
    screen.terminal.process(bytes.as_bytes());
    assert_eq!(screen.lines(), ["spin 2", "> a long line of text", "status"]);
    assert_eq!(screen.terminal.screen().cursor_position(), (1, 3));
    let nothing =
        screen.painter.draw(&[], live(&["spin 2", "> a long line of text", "status"], (1, 3)));
    assert_eq!(nothing, "");
}

#[test]
fn rows_that_became_too_long_are_taken_away() {
    let mut screen = Screen::new(8, 30);
    screen.draw(&["before"], live(&["a row of twenty-four col", "> typed"], (1, 7)));
    // What a terminal makes of it that breaks its rows anew.
    screen.terminal = terminal(8, 12);
    screen.terminal.process(b"before\r\na row of twe\r\nnty-four col\r\n> typed");
    screen.painter.resize(12, 8);
    screen.draw(&[], live(&["a row", "> typed"], (1, 7)));
    assert_eq!(screen.lines(), ["before", "a row", "> typed"]);
}

#[test]
fn more_than_the_screen_holds_is_cut_at_the_top() {
    let mut screen = Screen::new(3, 10);
    screen.draw(&[], live(&["1", "2", "3", "> x"], (3, 3)));
    assert_eq!(screen.lines(), ["3", "> x"]);
    assert_eq!(screen.terminal.screen().cursor_position(), (1, 3));
    screen.draw(&[], live(&["a very long row indeed", "> x"], (1, 3)));
    assert_eq!(screen.lines(), ["a very l…", "> x"]);
}

#[test]
fn in_the_end_only_what_was_printed_is_left() {
    let mut screen = Screen::new(6, 20);
    screen.draw(&["one"], live(&["work", "> ", "status"], (1, 2)));
    let bytes = screen.painter.erase(&rows(&["two"]));
    screen.terminal.process(bytes.as_bytes());
    assert_eq!(screen.lines(), ["one", "two"]);
    assert_eq!(screen.terminal.screen().cursor_position(), (2, 0));
}

#[test]
fn rows_that_stay_as_they_are_cost_nothing_above_them() {
    let mut screen = Screen::new(8, 30);
    screen.painter.capabilities.reflows = false;
    screen.draw(&["before"], live(&["a row of twenty-four col", "> typed"], (1, 7)));
    screen.terminal = terminal(8, 12);
    screen.terminal.process(b"before\r\na row of twe\r\n> typed");
    screen.painter.resize(12, 8);
    screen.draw(&[], live(&["a row", "> typed"], (1, 7)));
    assert_eq!(screen.lines(), ["before", "a row", "> typed"]);
}
