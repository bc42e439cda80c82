//! Replies to terminal queries.
//!
//! The replies are those of a plain colour terminal: enough that no program
//! blocks on a reply, and little enough that none enables missing features.
//! None echoes earlier output (a title, the clipboard): it would be injected as
//! key input.

use super::drawing::TerminalGrid;

/// A VT220 with colours.
pub(super) const DEVICE_ATTRIBUTES: &[u8] = b"\x1b[?62;22c";

/// An early xterm: programs do not query its further features.
const SECONDARY_ATTRIBUTES: &[u8] = b"\x1b[>1;10;0c";

/// Height and width of a cell, for queries in pixels.
const CELL_PIXELS: (u32, u32) = (16, 8);

/// Maximum replies to one command.
const MAX_ANSWERS: usize = 16;

/// The sixteen colours that have names.
const NAMED_COLOURS: [u32; 16] = [
    0x00_00_00, 0xcd_00_00, 0x00_cd_00, 0xcd_cd_00, 0x00_00_ee, 0xcd_00_cd, 0x00_cd_cd, 0xe5_e5_e5,
    0x7f_7f_7f, 0xff_00_00, 0x00_ff_00, 0xff_ff_00, 0x5c_5c_ff, 0xff_00_ff, 0x00_ff_ff, 0xff_ff_ff,
];

/// A control sequence, without the leading ESC [.
#[derive(Debug)]
pub(super) struct ControlSequence<'a> {
    /// Bytes before the parameters (`?`, `>`, `=`, `<`).
    pub(super) prefix: &'a [u8],
    /// The numeric parameters.
    pub(super) params: &'a [u8],
    /// Bytes after the parameters (`$`, a space, …).
    pub(super) intermediates: &'a [u8],
    /// The byte that selects the function.
    pub(super) final_byte: u8,
}

impl<'a> ControlSequence<'a> {
    pub(super) fn parse(held: &'a [u8]) -> Option<Self> {
        let (&last, held) = held.split_last()?;
        let start = held.iter().take_while(|byte| matches!(byte, b'<'..=b'?')).count();
        let (marks, held) = held.split_at(start);
        let end = held.iter().take_while(|byte| matches!(byte, b'0'..=b';')).count();
        let (params, more) = held.split_at(end);
        more.iter().all(|byte| matches!(byte, b' '..=b'/')).then_some(Self {
            prefix: marks,
            params,
            intermediates: more,
            final_byte: last,
        })
    }

    /// Returns the parameter at an index; None if it is omitted.
    pub(super) fn number(&self, at: usize) -> Option<u16> {
        let field = self.params.split(|byte| *byte == b';').nth(at)?;
        let text = std::str::from_utf8(field).ok().filter(|text| !text.is_empty())?;
        // Saturates on overflow.
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().unwrap_or(u16::MAX))
    }
}

/// Returns the reply to a control sequence, if it is a query.
pub(super) fn answer_control(
    sequence: &ControlSequence<'_>,
    drawing: &TerminalGrid,
) -> Option<Vec<u8>> {
    let first = sequence.number(0).unwrap_or(0);
    let (row, col) = drawing.cursor();
    let (row, col) = (row + 1, col + 1);
    let text = match (sequence.prefix, sequence.intermediates, sequence.final_byte, first) {
        (b"", b"", b'n', 5) => "\x1b[0n".into(),
        (b"", b"", b'n', 6) => format!("\x1b[{row};{col}R"),
        (b"?", b"", b'n', 6) => format!("\x1b[?{row};{col}R"),
        // No printer, locked keys, a keyboard, a dark background.
        (b"?", b"", b'n', 15) => "\x1b[?13n".into(),
        (b"?", b"", b'n', 25) => "\x1b[?21n".into(),
        (b"?", b"", b'n', 26) => "\x1b[?27;1;0;0n".into(),
        (b"?", b"", b'n', 996) => "\x1b[?997;1n".into(),
        (b"", b"", b'c', 0) => return Some(DEVICE_ATTRIBUTES.to_vec()),
        (b">", b"", b'c', 0) => return Some(SECONDARY_ATTRIBUTES.to_vec()),
        (b"=", b"", b'c', 0) => "\x1bP!|00000000\x1b\\".into(),
        (b">", b"", b'q', 0) => {
            concat!("\x1bP>|hermes ", env!("CARGO_PKG_VERSION"), "\x1b\\").into()
        }
        (b"", b"", b'x', asked @ 0..=1) => format!("\x1b[{};1;1;128;128;1;0x", asked + 2),
        (b"?", b"$", b'p', mode) => format!("\x1b[?{mode};{}$y", mode_state(mode, drawing)),
        (b"", b"$", b'p', mode) => format!("\x1b[{mode};0$y"),
        (b"", b"", b't', asked) => window_report(asked, drawing.size())?,
        _ => return None,
    };
    Some(text.into_bytes())
}

/// Returns whether a mode is set (1), reset (2) or unknown (0).
fn mode_state(mode: u16, drawing: &TerminalGrid) -> u8 {
    use vt100::MouseProtocolMode as Mouse;
    let screen = drawing.screen();
    let on = match mode {
        1 => screen.application_cursor(),
        9 => screen.mouse_protocol_mode() == Mouse::Press,
        25 => !screen.hide_cursor(),
        47 | 1047 | 1049 => screen.alternate_screen(),
        1000 => screen.mouse_protocol_mode() == Mouse::PressRelease,
        1002 => screen.mouse_protocol_mode() == Mouse::ButtonMotion,
        1003 => screen.mouse_protocol_mode() == Mouse::AnyMotion,
        2004 => screen.bracketed_paste(),
        _ => return 0,
    };
    if on { 1 } else { 2 }
}

/// Returns the reply to a window query.
fn window_report(asked: u16, (rows, cols): (u16, u16)) -> Option<String> {
    let (height, width) = CELL_PIXELS;
    Some(match asked {
        11 => "\x1b[1t".into(),
        13 => "\x1b[3;0;0t".into(),
        14 => format!("\x1b[4;{};{}t", u32::from(rows) * height, u32::from(cols) * width),
        15 => format!("\x1b[5;{};{}t", u32::from(rows) * height, u32::from(cols) * width),
        16 => format!("\x1b[6;{height};{width}t"),
        18 => format!("\x1b[8;{rows};{cols}t"),
        19 => format!("\x1b[9;{rows};{cols}t"),
        20 => "\x1b]L\x1b\\".into(),
        21 => "\x1b]l\x1b\\".into(),
        _ => return None,
    })
}

/// Returns the replies to an operating system command, without introducer and
/// terminator.
pub(super) fn answer_osc(what: &[u8], asked: &[u8]) -> Vec<String> {
    let fields = asked.split(|byte| *byte == b';').take(MAX_ANSWERS);
    match what {
        // Text, background and cursor; each further field asks for the next.
        b"10" | b"11" | b"12" => {
            let first = what.last().map_or(10, |digit| 10 + usize::from(digit - b'0'));
            let asked = fields.enumerate().filter(|(_, field)| *field == b"?");
            let light = |which: usize| if which == 11 { 0x00_00_00 } else { 0xe5_e5_e5 };
            asked
                .map(|(at, _)| first + at)
                .take_while(|which| *which <= 12)
                .map(|which| format!("{which};{}", colour_spec(light(which))))
                .collect()
        }
        b"4" => {
            let fields: Vec<&[u8]> = fields.collect();
            let asked = fields.chunks_exact(2).filter_map(|pair| match pair {
                [index, b"?"] => std::str::from_utf8(index).ok()?.parse().ok(),
                _ => None,
            });
            asked
                .map(|index: u8| format!("4;{index};{}", colour_spec(palette_colour(index))))
                .collect()
        }
        // The clipboard belongs to the user: it is reported as empty.
        b"52" if asked.ends_with(b";?") => vec!["52;c;".into()],
        _ => Vec::new(),
    }
}

/// Returns the reply to a device control string: not supported.
pub(super) fn answer_dcs(asked: &[u8]) -> Option<&'static [u8]> {
    match asked {
        [b'$', b'q', ..] => Some(b"\x1bP0$r\x1b\\"),
        [b'+', b'q', ..] => Some(b"\x1bP0+r\x1b\\"),
        _ => None,
    }
}

fn colour_spec(rgb: u32) -> String {
    let [_, r, g, b] = rgb.to_be_bytes();
    format!("rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}")
}

/// The 256 colours: sixteen with names, a cube, a ramp of greys.
fn palette_colour(index: u8) -> u32 {
    if let Some(colour) = NAMED_COLOURS.get(usize::from(index)) {
        return *colour;
    }
    let index = u32::from(index);
    if index >= 232 {
        return (8 + (index - 232) * 10) * 0x01_01_01;
    }
    let level = |step: u32| if step == 0 { 0 } else { 55 + step * 40 };
    let cube = index - 16;
    level(cube / 36) << 16 | level(cube / 6 % 6) << 8 | level(cube % 6)
}
