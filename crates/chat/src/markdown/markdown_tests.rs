use proptest::prelude::*;

use super::*;
use crate::row::{ColourSupport, StyledRow};

/// The rows of a text that comes in these pieces, as text; gaps are empty rows.
fn shown(pieces: &[&str], columns: usize) -> Vec<String> {
    let (mut blocks, mut done) = (BlockSplitter::default(), Vec::new());
    for piece in pieces {
        blocks.push(piece, &mut done);
    }
    blocks.finish(&mut done);
    let mut rows: Vec<StyledRow> = Vec::new();
    for block in &done {
        let gap = matches!(
            block,
            MarkdownBlock::Markdown { gap: true, .. } | MarkdownBlock::Code { gap: true, .. }
        );
        if gap && !rows.is_empty() {
            rows.push(StyledRow::default());
        }
        rows.extend(render(block, columns));
    }
    rows.iter().map(|row| row.text().trim_end().to_owned()).collect()
}

fn drawn(text: &str) -> String {
    let (mut blocks, mut done) = (BlockSplitter::default(), Vec::new());
    blocks.push(text, &mut done);
    blocks.finish(&mut done);
    let mut out = String::new();
    for row in done.iter().flat_map(|block| render(block, 60)) {
        row.write(&mut out, ColourSupport::Full);
        out.push('\n');
    }
    out
}

const SAMPLE: &str = "\
# Title
Some *text* that is long enough to be broken.
- one
- two
  - inside

  and more
- three

1. a
1. b

10) ten

> quoted
> words

```rust
fn main() {

    body();
}
```
after
Heading
---
| a | long head |
|--:|---|
| 12345 | x |
| 1 | 世界 |

***
[text](http://x.y) and <http://x.y> ![pic](a.png)
- [x] done
- [ ] open
  ```
  - not an item
  ```
";

#[test]
fn a_text_with_everything_in_it() {
    let want = "\
Title
Some text that is long
enough to be broken.
• one
• two
  ◦ inside

  and more
• three

1. a
2. b

10. ten

│ quoted words

  ─── rust
  fn main() {

      body();
  }
after Heading
    a │ long head
──────┼──────────
12345 │ x
    1 │ 世界

────────────────────────
text (http://x.y) and
http://x.y 🖼 pic (a.png)
• ☑ done
• ☐ open
    - not an item";
    let rows = shown(&[SAMPLE], 24);
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    pretty(&rows, &want.lines().collect::<Vec<_>>());
}

#[track_caller]
fn pretty(found: &[&str], want: &[&str]) {
    assert!(found == want, "found:\n{}\nwanted:\n{}", found.join("\n"), want.join("\n"));
}

#[test]
fn styles_are_those_of_the_text() {
    assert_eq!(drawn("**b** *i* `c`"), "\x1b[0;1mb\x1b[0m \x1b[0;3mi\x1b[0m \x1b[0;36mc\x1b[0m\n");
    assert_eq!(drawn("## h"), "\x1b[0;1;35mh\x1b[0m\n");
    assert_eq!(drawn("~~gone~~"), "\x1b[0;9mgone\x1b[0m\n");
}

#[test]
fn nothing_in_a_text_reaches_the_terminal_as_a_command() {
    let text = drawn("a &#27;[2J b &#x9b;31m `\u{202e}` [l](http://x/&#27;[31m) <b>&#7;</b>");
    let bare = text
        .replace("\x1b[0m", "")
        .replace("\x1b[0;36m", "")
        .replace("\x1b[0;4m", "")
        .replace("\x1b[0;2m", "");
    assert!(!bare.contains(['\x1b', '\u{9b}', '\u{202e}', '\x07']), "{bare:?}");
}

#[test]
fn code_comes_line_by_line() {
    let (mut blocks, mut done) = (BlockSplitter::default(), Vec::new());
    blocks.push("```\none\ntwo\nthr", &mut done);
    let lines = done.iter().filter(|block| matches!(block, MarkdownBlock::Line(_))).count();
    assert_eq!(lines, 2);
    assert_eq!(blocks.unfinished(), Some(MarkdownBlock::Line("thr".into())));
    done.clear();
    blocks.push("ee\n```\n", &mut done);
    assert_eq!(done, [MarkdownBlock::Line("three".into()), MarkdownBlock::CodeEnd]);
    assert_eq!(blocks.unfinished(), None);
}

#[test]
fn a_paragraph_is_seen_before_it_is_complete() {
    let (mut blocks, mut done) = (BlockSplitter::default(), Vec::new());
    blocks.push("first line\nsecond", &mut done);
    assert!(done.is_empty());
    let Some(block) = blocks.unfinished() else { panic!("nothing to see") };
    assert_eq!(
        render(&block, 40).iter().map(StyledRow::text).collect::<Vec<_>>(),
        ["first line second"]
    );
}

#[test]
fn a_line_without_end_is_not_kept_whole() {
    let (mut blocks, mut done) = (BlockSplitter::default(), Vec::new());
    blocks.push(&"word ".repeat(200_000), &mut done);
    assert!(done.len() > 10);
    let Some(MarkdownBlock::Markdown { text, .. }) = blocks.unfinished() else {
        panic!("nothing to see")
    };
    assert!(text.len() <= 70_000);
    let all: usize = done
        .iter()
        .map(|block| match block {
            MarkdownBlock::Markdown { text, .. } => text.trim_end().len() + 1,
            other => panic!("{other:?}"),
        })
        .sum();
    assert!(all + text.len() >= 1_000_000);
}

#[test]
fn deep_nesting_leaves_room_for_the_text() {
    for text in [
        ">".repeat(5_000) + " x",
        "- ".repeat(2_000) + "x",
        "*".repeat(5_000) + "x",
        "[".repeat(5_000),
    ] {
        let rows = shown(&[&text], 40);
        assert!(rows.iter().all(|row| crate::row::width(row) <= 40), "{:.20}", text);
    }
}

#[test]
fn a_table_that_is_too_wide_is_broken_in_its_cells() {
    let text = "|a|b|\n|-|-|\n|short|a much longer text that does not fit|\n";
    let want = [
        "a     │ b",
        "──────┼───────────────",
        "short │ a much longer",
        "      │ text that does",
        "      │ not fit",
    ];
    let rows = shown(&[text], 22);
    assert_eq!(rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>(), want);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn pieces_give_the_same_rows_as_the_whole(cuts in prop::collection::vec(0..SAMPLE.len(), 0..8)) {
        let mut cuts = cuts;
        cuts.retain(|cut| SAMPLE.is_char_boundary(*cut));
        cuts.push(0);
        cuts.push(SAMPLE.len());
        cuts.sort_unstable();
        let pieces: Vec<&str> = cuts.windows(2).map(|cut| &SAMPLE[cut[0]..cut[1]]).collect();
        prop_assert_eq!(shown(&pieces, 30), shown(&[SAMPLE], 30));
    }

    #[test]
    fn any_text_keeps_its_letters_and_fits(text in "[a-c*`_>#|\\-1. \n\\[\\]()<~世]{0,80}") {
        let rows = shown(&[&text], 20);
        let count = |text: &str, c: char| text.matches(c).count();
        let all = rows.concat();
        let in_code = text.contains("```") || text.contains("~~~");
        if !in_code {
            prop_assert!(rows.iter().all(|row| crate::row::width(row) <= 20), "{rows:?}");
        }
        // What stands between brackets or after a fence may be an address or a language.
        if !text.contains('[') && !text.contains('<') && !text.contains('|') && !in_code {
            prop_assert_eq!(count(&all, '世'), count(&text, '世'), "{:?}", rows);
        }
    }
}
