use proptest::prelude::*;

use super::*;
use crate::row::{PLAIN_STYLE, StyledRow};

fn typed(text: &str) -> LineEditor {
    let mut editor = LineEditor::default();
    text.chars().for_each(|c| editor.insert_char(c));
    editor
}

/// The text with a bar where the cursor is.
fn shown(editor: &LineEditor) -> String {
    let (before, after) = editor.text.split_at(editor.cursor);
    format!("{before}|{after}")
}

#[test]
fn words_and_lines_are_stepped_over() {
    let mut editor = typed("one two\nthree");
    for (step, want) in [
        (CursorMove::WordLeft, "one two\n|three"),
        (CursorMove::Left, "one two|\nthree"),
        (CursorMove::WordLeft, "one |two\nthree"),
        (CursorMove::LineStart, "|one two\nthree"),
        (CursorMove::WordRight, "one| two\nthree"),
        (CursorMove::LineEnd, "one two|\nthree"),
        (CursorMove::TextEnd, "one two\nthree|"),
    ] {
        editor.move_cursor(step);
        assert_eq!(shown(&editor), want, "{step:?}");
    }
    assert!(editor.move_line(LineDirection::Up));
    assert_eq!(shown(&editor), "one t|wo\nthree");
    assert!(!editor.move_line(LineDirection::Up));
    assert!(editor.move_line(LineDirection::Down));
    assert!(!editor.move_line(LineDirection::Down));
}

#[test]
fn what_is_killed_can_be_put_back() {
    let mut editor = typed("one two three");
    editor.kill(CursorMove::WordLeft);
    assert_eq!(shown(&editor), "one two |");
    editor.move_cursor(CursorMove::TextStart);
    editor.yank();
    assert_eq!(shown(&editor), "three|one two ");
    editor.kill(CursorMove::LineEnd);
    editor.yank();
    editor.yank();
    assert_eq!(editor.text(), "threeone two one two ");
}

#[test]
fn changes_are_undone_and_done_again() {
    let mut editor = typed("one two");
    editor.delete(CursorMove::WordLeft);
    editor.undo();
    assert_eq!(shown(&editor), "one two|");
    editor.undo();
    assert_eq!(editor.text(), "one");
    editor.undo();
    assert_eq!(editor.text(), "");
    editor.redo();
    editor.redo();
    assert_eq!(editor.text(), "one two");
}

#[test]
fn a_long_paste_is_one_thing_and_is_sent_whole() {
    let mut editor = typed("see ");
    let long = "line\n".repeat(214);
    editor.paste(&long);
    editor.insert_char('!');
    let laid =
        layout_input(&editor, &StyledRow::new("> ", PLAIN_STYLE), 60, "", InputVisibility::Shown);
    assert_eq!(laid.rows[0].text(), "> see [pasted 214 lines]!");
    assert_eq!(editor.expanded_text(), format!("see {long}!"));
    editor.delete(CursorMove::Left);
    editor.delete(CursorMove::Left);
    assert_eq!(editor.expanded_text(), "see ");
    editor.undo();
    assert_eq!(editor.expanded_text(), format!("see {long}"));
}

#[test]
fn files_are_named_and_given_along() {
    let mut editor = LineEditor::default();
    editor.attach("/tmp/my picture.PNG".into());
    editor.insert("what is this?");
    let laid = layout_input(&editor, &StyledRow::default(), 60, "", InputVisibility::Shown);
    assert_eq!(laid.rows[0].text(), "[picture my picture.PNG] what is this?");
    assert_eq!(editor.expanded_text(), "/tmp/my picture.PNG what is this?");
    assert_eq!(editor.files(), [PathBuf::from("/tmp/my picture.PNG")]);
}

#[test]
fn nothing_harmful_gets_in() {
    let mut editor = typed("a\x1b\u{202e}b\u{f0000}");
    editor.insert("\x1b[31mc\x07");
    editor.paste("d\u{f0001}\u{9b}0m");
    assert_eq!(editor.text(), "abcd");
}

#[test]
fn the_layout_follows_the_cursor() {
    let mut editor = typed("abcdefgh");
    let prompt = StyledRow::new("> ", PLAIN_STYLE);
    let laid = layout_input(&editor, &prompt, 6, "", InputVisibility::Shown);
    let rows: Vec<String> = laid.rows.iter().map(StyledRow::text).collect();
    assert_eq!(rows, ["> abcd", "  efgh", "  "]);
    assert_eq!((laid.row, laid.column), (2, 2));
    editor.move_cursor(CursorMove::TextStart);
    let laid = layout_input(&editor, &prompt, 6, "", InputVisibility::Shown);
    assert_eq!((laid.row, laid.column), (0, 2));
    let worded = layout_input(&typed("one two three"), &prompt, 9, "", InputVisibility::Shown);
    let rows: Vec<String> = worded.rows.iter().map(StyledRow::text).collect();
    assert_eq!(rows, ["> one two", "  three"]);
    assert_eq!((worded.row, worded.column), (1, 7));
    let hidden = layout_input(&editor, &prompt, 20, "", InputVisibility::Hidden);
    assert_eq!(hidden.rows[0].text(), "> ••••••••");
    assert_eq!(laid.around_cursor(1).rows.len(), 1);
}

#[derive(Clone, Debug)]
enum Act {
    Type(char),
    Paste(String),
    Go(CursorMove),
    Delete(CursorMove),
    Kill(CursorMove),
    Yank,
    Line(LineDirection),
    Undo,
    Redo,
}

fn act() -> impl Strategy<Value = Act> {
    let step = prop::sample::select(vec![
        CursorMove::Left,
        CursorMove::Right,
        CursorMove::WordLeft,
        CursorMove::WordRight,
        CursorMove::LineStart,
        CursorMove::LineEnd,
        CursorMove::TextStart,
        CursorMove::TextEnd,
    ]);
    let letter = prop::sample::select(vec![
        'a',
        ' ',
        '\n',
        '世',
        '\u{301}',
        '\u{1f468}',
        '\u{200d}',
        'क',
        'ि',
    ]);
    prop_oneof![
        letter.clone().prop_map(Act::Type),
        letter.clone().prop_map(Act::Type),
        letter.prop_map(Act::Type),
        "[a\n]{0,12}".prop_map(Act::Paste),
        step.clone().prop_map(Act::Go),
        step.clone().prop_map(Act::Delete),
        step.prop_map(Act::Kill),
        Just(Act::Yank),
        Just(Act::Line(LineDirection::Up)),
        Just(Act::Line(LineDirection::Down)),
        Just(Act::Undo),
        Just(Act::Redo),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_cursor_is_always_between_characters(acts in prop::collection::vec(act(), 0..40)) {
        let mut editor = LineEditor::default();
        for act in acts {
            match act {
                Act::Type(c) => editor.insert_char(c),
                Act::Paste(text) => editor.paste(&text),
                Act::Go(step) => editor.move_cursor(step),
                Act::Delete(step) => editor.delete(step),
                Act::Kill(step) => editor.kill(step),
                Act::Yank => editor.yank(),
                Act::Line(way) => { editor.move_line(way); }
                Act::Undo => editor.undo(),
                Act::Redo => editor.redo(),
            }
            prop_assert!(editor.text.is_char_boundary(editor.cursor));
            prop_assert!(editor.is_boundary(editor.cursor), "{:?}", shown(&editor));
            let laid = layout_input(&editor, &StyledRow::new("> ", PLAIN_STYLE), 10, "", InputVisibility::Shown);
            prop_assert!(laid.row < laid.rows.len() && laid.column < 10);
            prop_assert!(laid.rows.iter().all(|row| row.width() <= 10));
        }
        while { let before = editor.text.clone(); editor.undo(); before != editor.text } {}
    }
}

#[test]
fn a_wide_character_after_a_word_that_moved_to_the_next_row_fits() {
    let mut editor = LineEditor::default();
    editor.paste("ab cdefg");
    // Three columns, where the word leaves two.
    editor.paste("👨ि");
    let laid =
        layout_input(&editor, &StyledRow::new("> ", PLAIN_STYLE), 10, "", InputVisibility::Shown);
    assert!(laid.rows.iter().all(|row| row.width() <= 10), "{:?}", laid.rows);
}
