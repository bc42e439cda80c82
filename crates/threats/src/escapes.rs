//! Characters written as HTML entities or as backslash escapes.

/// How often an ampersand itself may be escaped.
const MAX_AMP_NESTING: usize = 4;

/// Maximum number of digits in a numeric escape.
const MAX_ESCAPE_DIGITS: usize = 8;

const NAMED_ENTITIES: [(&str, char); 34] = [
    ("lt;", '<'),
    ("gt;", '>'),
    ("quot;", '"'),
    ("apos;", '\''),
    ("nbsp;", ' '),
    ("ensp;", ' '),
    ("emsp;", ' '),
    ("thinsp;", ' '),
    ("Tab;", ' '),
    ("NewLine;", '\n'),
    ("shy;", '\u{ad}'),
    ("zwj;", '\u{200d}'),
    ("zwnj;", '\u{200c}'),
    ("ZeroWidthSpace;", '\u{200b}'),
    ("NoBreak;", '\u{2060}'),
    ("lowbar;", '_'),
    ("UnderBar;", '_'),
    ("colon;", ':'),
    ("semi;", ';'),
    ("period;", '.'),
    ("comma;", ','),
    ("excl;", '!'),
    ("num;", '#'),
    ("dollar;", '$'),
    ("sol;", '/'),
    ("bsol;", '\\'),
    ("lpar;", '('),
    ("rpar;", ')'),
    ("lsqb;", '['),
    ("rsqb;", ']'),
    ("vert;", '|'),
    ("verbar;", '|'),
    ("hyphen;", '-'),
    ("dash;", '-'),
];

/// Decodes the escape at the start of `text`; returns the character and the
/// length of the escape in bytes.
pub(crate) fn decode_escape(text: &str) -> Option<(char, usize)> {
    match text.as_bytes().first()? {
        b'&' => entity(text),
        b'\\' => backslash(text),
        _ => None,
    }
}

fn entity(text: &str) -> Option<(char, usize)> {
    let mut rest = text.get(1..)?;
    let mut nested = 0;
    while nested < MAX_AMP_NESTING
        && let Some(inner) = rest.strip_prefix("amp;")
    {
        rest = inner;
        nested += 1;
    }
    let found = match rest.strip_prefix('#') {
        Some(number) => numeric(number).map(|(c, used)| (c, used + 1)),
        None => NAMED_ENTITIES
            .iter()
            .find(|(name, _)| rest.starts_with(name))
            .map(|&(n, c)| (c, n.len())),
    };
    match found {
        Some((c, used)) => Some((c, text.len() - rest.len() + used)),
        None if nested > 0 => Some(('&', "&amp;".len())),
        None => None,
    }
}

fn numeric(text: &str) -> Option<(char, usize)> {
    let (digits, radix, prefix) = match text.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16, 1),
        None => (text, 10, 0),
    };
    let length =
        digits.bytes().take(MAX_ESCAPE_DIGITS).take_while(|&b| (b as char).is_digit(radix)).count();
    let code = u32::from_str_radix(digits.get(..length)?, radix).ok()?;
    let closed = usize::from(digits.as_bytes().get(length) == Some(&b';'));
    Some((char::from_u32(code)?, prefix + length + closed))
}

fn backslash(text: &str) -> Option<(char, usize)> {
    match text.as_bytes().get(1)? {
        b'n' | b'r' => Some(('\n', 2)),
        b't' => Some((' ', 2)),
        b'x' => Some((char::from_u32(hex(text, 2..4)?)?, 4)),
        b'u' => unicode(text),
        _ => None,
    }
}

fn unicode(text: &str) -> Option<(char, usize)> {
    if let Some(braced) = text.get(3..).filter(|_| text.as_bytes().get(2) == Some(&b'{')) {
        let length = braced.bytes().take(MAX_ESCAPE_DIGITS).position(|b| b == b'}')?;
        return Some((char::from_u32(hex(braced, 0..length)?)?, 4 + length));
    }
    let unit = hex(text, 2..6)?;
    // The low surrogate follows in a second escape.
    if (0xd800..0xdc00).contains(&unit) && text.get(6..8) == Some("\\u") {
        let low = hex(text, 8..12)?.checked_sub(0xdc00).filter(|&low| low < 0x400)?;
        return Some((char::from_u32(0x10000 + ((unit - 0xd800) << 10) + low)?, 12));
    }
    Some((char::from_u32(unit)?, 6))
}

fn hex(text: &str, range: std::ops::Range<usize>) -> Option<u32> {
    let digits = text.get(range)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
    u32::from_str_radix(digits, 16).ok()
}
