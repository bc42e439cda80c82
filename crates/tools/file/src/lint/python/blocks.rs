//! Python block structure, from indentation and the first word of each line.

use super::TokenizeResult;
use super::token::PythonToken;

/// The open blocks.
#[derive(Default)]
pub(super) struct BlockStack {
    /// Blocks inside the outermost one.
    inner: Vec<PythonBlock>,
    /// First word of the last line of the outermost block.
    outer: Option<String>,
    /// Whether the previous line opens a block.
    opens: bool,
    /// First word of the current line.
    word: String,
}

struct PythonBlock {
    indent: IndentWidth,
    /// The first word of its last line.
    last: Option<String>,
}

/// Indentation of a line, with tabs to the next multiple of eight, and with
/// tabs as one column. Where the two disagree on which line is deeper, Python
/// rejects the code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct IndentWidth {
    wide: usize,
    narrow: usize,
}

impl BlockStack {
    /// Starts a line at byte `at`, with this indentation and first word.
    pub(super) fn begin_line(&mut self, at: usize, blanks: &str, word: &str) -> TokenizeResult {
        let indent = IndentWidth::measure(blanks);
        let fault = |what: &str| Err(Some((at, what.to_owned())));
        let mixed = "inconsistent use of tabs and spaces in indentation";
        let around = self.inner.last().map_or(IndentWidth::default(), |block| block.indent);
        word.clone_into(&mut self.word);
        if std::mem::take(&mut self.opens) {
            if indent.wide <= around.wide {
                return fault("expected an indented block after the line that ends with ':'");
            }
            self.inner.push(PythonBlock { indent, last: None });
            return if indent.narrow <= around.narrow { fault(mixed) } else { Ok(()) };
        }
        if indent.wide > around.wide {
            return fault("unexpected indent");
        }
        while let Some(block) = self.inner.pop_if(|block| block.indent.wide > indent.wide) {
            check_complete(block.last.as_deref(), at)?;
        }
        let here = self.inner.last().map_or(IndentWidth::default(), |block| block.indent);
        if here.wide != indent.wide {
            return fault("unindent does not match any outer level");
        }
        if here.narrow != indent.narrow {
            return fault(mixed);
        }
        self.check_clause_order(at)
    }

    /// Checks that the line may follow the previous one in its block.
    fn check_clause_order(&mut self, at: usize) -> TokenizeResult {
        let before = match self.inner.last() {
            Some(block) => block.last.as_deref(),
            None => self.outer.as_deref(),
        };
        let wanted: &[&str] = match self.word.as_str() {
            "elif" => &["if", "elif"],
            "else" => &["if", "elif", "for", "while", "except", "async"],
            "except" => &["try", "except"],
            "finally" => &["try", "except", "else"],
            "def" | "class" | "async" | "@" => {
                return self.check_complete_unless(&["@"], before, at);
            }
            _ => return check_complete(before, at),
        };
        if before.is_some_and(|before| wanted.contains(&before)) {
            return Ok(());
        }
        Err(Some((at, format!("'{}' has no matching statement", self.word))))
    }

    fn check_complete_unless(
        &self,
        taken: &[&str],
        before: Option<&str>,
        at: usize,
    ) -> TokenizeResult {
        if before.is_some_and(|before| taken.contains(&before)) {
            return Ok(());
        }
        check_complete(before, at)
    }

    pub(super) fn end_line(&mut self, tokens: &[PythonToken<'_>]) {
        self.opens = tokens.last().is_some_and(|last| last.is(":"));
        let last = Some(std::mem::take(&mut self.word));
        match self.inner.last_mut() {
            Some(block) => block.last = last,
            None => self.outer = last,
        }
    }

    /// Ends the text at byte `at`.
    pub(super) fn finish(&mut self, at: usize) -> TokenizeResult {
        if self.opens {
            let what = "expected an indented block after the line that ends with ':'";
            return Err(Some((at, what.to_owned())));
        }
        while let Some(block) = self.inner.pop() {
            check_complete(block.last.as_deref(), at)?;
        }
        check_complete(self.outer.as_deref(), at)
    }
}

/// Checks that a block may end, or continue with another statement, after
/// `last`.
fn check_complete(last: Option<&str>, at: usize) -> TokenizeResult {
    let what = match last {
        Some("try") => "expected 'except' or 'finally'",
        Some("@") => "expected a function or a class after the decorator",
        _ => return Ok(()),
    };
    Err(Some((at, what.to_owned())))
}

impl IndentWidth {
    fn measure(blanks: &str) -> Self {
        let mut found = Self::default();
        for blank in blanks.bytes() {
            match blank {
                b'\t' => found = Self { wide: found.wide / 8 * 8 + 8, narrow: found.narrow + 1 },
                b' ' => found = Self { wide: found.wide + 1, narrow: found.narrow + 1 },
                _ => found = Self::default(),
            }
        }
        found
    }
}
