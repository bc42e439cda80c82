//! Lines of the form `file:line:column: message`, which most tools print.

/// The parts of such a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocatedLine<'a> {
    pub(crate) file: &'a str,
    /// The numbers after the file.
    pub(crate) numbers: Vec<u64>,
    /// The text after the numbers.
    pub(crate) rest: &'a str,
}

/// Parses a line; `None` if it has another form. The file extends to the first
/// number between colons, so it may contain colons.
pub(crate) fn parse_located(line: &str) -> Option<LocatedLine<'_>> {
    let mut from = 0;
    while let Some(at) = line.get(from..)?.find(':').map(|at| from + at) {
        let (numbers, rest) = parse_numbers(line.get(at + 1..)?);
        let file = line.get(..at)?;
        if !file.trim_matches(':').is_empty() && !numbers.is_empty() {
            return Some(LocatedLine { file, numbers, rest: rest.trim() });
        }
        from = at + 1;
    }
    None
}

fn parse_numbers(mut text: &str) -> (Vec<u64>, &str) {
    let mut found = Vec::new();
    loop {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let Some((number, rest)) = text.split_at_checked(digits) else { break };
        let ends = rest.is_empty() || rest.starts_with([':', ' ', ',']);
        match number.parse() {
            Ok(number) if ends => found.push(number),
            _ => break,
        }
        text = rest;
        match rest.strip_prefix(':') {
            Some(after) if after.starts_with(|c: char| c.is_ascii_digit()) => text = after,
            Some(after) => return (found, after),
            None => break,
        }
    }
    (found, text)
}

/// Splits off a trailing code in brackets: `message [code]`.
pub(crate) fn split_trailing_code<'a>(
    text: &'a str,
    open: &str,
    close: char,
) -> (&'a str, Option<&'a str>) {
    let text = text.trim_end();
    let inner = text.strip_suffix(close).and_then(|text| text.rfind(open).map(|at| (text, at)));
    match inner {
        Some((inner, at)) => {
            let code = inner.get(at + open.len()..).unwrap_or_default();
            let is_code = !code.is_empty() && !code.contains(' ');
            let message = inner.get(..at).unwrap_or_default().trim_end();
            if is_code { (message, Some(code)) } else { (text, None) }
        }
        None => (text, None),
    }
}

/// Finds JSON in a text that may have other lines before it, starting at a line
/// that begins with a bracket.
pub(crate) fn find_json(text: &str) -> Option<serde_json::Value> {
    let mut from = 0;
    // The program may print a few such lines before it.
    for _ in 0..64 {
        let at = from + text.get(from..)?.find(['{', '['])?;
        let starts_line = at == 0 || text.get(..at)?.ends_with('\n');
        if starts_line {
            let stream = serde_json::Deserializer::from_str(text.get(at..)?);
            if let Some(Ok(value)) = stream.into_iter().next() {
                return Some(value);
            }
        }
        from = at + text.get(at..)?.find('\n')? + 1;
    }
    None
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
