//! Letters of other alphabets that look like Latin letters.

/// Returns the Latin letter that `c` is visually identical to.
pub(crate) fn exact_lookalike(c: char) -> Option<char> {
    cyrillic(c)
        .or_else(|| greek(c))
        .or_else(|| latin(c))
        .or_else(|| cherokee(c))
        .or_else(|| lisu(c))
}

/// Returns the Latin letter that `c` passes for within a Latin word.
pub(crate) fn loose_lookalike(c: char) -> Option<char> {
    exact_lookalike(c).or_else(|| distant_lookalike(c))
}

fn cyrillic(c: char) -> Option<char> {
    Some(match c {
        '\u{430}' | '\u{410}' => 'a',
        '\u{412}' => 'b',
        '\u{441}' | '\u{421}' => 'c',
        '\u{501}' | '\u{500}' => 'd',
        '\u{435}' | '\u{415}' => 'e',
        '\u{50d}' | '\u{50c}' => 'g',
        '\u{4bb}' | '\u{41d}' => 'h',
        '\u{456}' | '\u{406}' => 'i',
        '\u{458}' | '\u{408}' => 'j',
        '\u{41a}' => 'k',
        '\u{4cf}' | '\u{4c0}' => 'l',
        '\u{41c}' => 'm',
        '\u{43e}' | '\u{41e}' => 'o',
        '\u{440}' | '\u{420}' => 'p',
        '\u{51b}' | '\u{51a}' => 'q',
        '\u{455}' | '\u{405}' => 's',
        '\u{422}' => 't',
        '\u{475}' | '\u{474}' => 'v',
        '\u{51d}' | '\u{51c}' => 'w',
        '\u{445}' | '\u{425}' => 'x',
        '\u{443}' | '\u{423}' | '\u{4af}' | '\u{4ae}' => 'y',
        _ => return None,
    })
}

fn greek(c: char) -> Option<char> {
    Some(match c {
        '\u{3b1}' | '\u{391}' => 'a',
        '\u{392}' => 'b',
        '\u{3f2}' | '\u{3f9}' => 'c',
        '\u{395}' => 'e',
        '\u{397}' => 'h',
        '\u{3b9}' | '\u{399}' => 'i',
        '\u{3f3}' | '\u{37f}' => 'j',
        '\u{39a}' => 'k',
        '\u{39c}' => 'm',
        '\u{39d}' => 'n',
        '\u{3bf}' | '\u{39f}' | '\u{2c9f}' | '\u{2c9e}' => 'o',
        '\u{3c1}' | '\u{3a1}' | '\u{2ca3}' | '\u{2ca2}' => 'p',
        '\u{2ca5}' | '\u{2ca4}' => 'c',
        '\u{3a4}' => 't',
        '\u{3bd}' => 'v',
        '\u{3a7}' => 'x',
        '\u{3a5}' => 'y',
        '\u{396}' => 'z',
        _ => return None,
    })
}

fn latin(c: char) -> Option<char> {
    Some(match c {
        '\u{251}' | '\u{1d00}' => 'a',
        '\u{299}' | '\u{253}' => 'b',
        '\u{1d04}' => 'c',
        '\u{1d05}' | '\u{111}' | '\u{110}' | '\u{257}' => 'd',
        '\u{1d07}' => 'e',
        '\u{a730}' => 'f',
        '\u{261}' | '\u{262}' => 'g',
        '\u{29c}' | '\u{127}' => 'h',
        '\u{131}' | '\u{269}' | '\u{26a}' | '\u{268}' => 'i',
        '\u{1d0a}' | '\u{237}' => 'j',
        '\u{1d0b}' => 'k',
        '\u{29f}' | '\u{142}' | '\u{141}' => 'l',
        '\u{1d0d}' => 'm',
        '\u{274}' => 'n',
        '\u{1d0f}' | '\u{f8}' | '\u{d8}' | '\u{275}' => 'o',
        '\u{1d18}' => 'p',
        '\u{280}' => 'r',
        '\u{a731}' => 's',
        '\u{1d1b}' | '\u{167}' => 't',
        '\u{1d1c}' => 'u',
        '\u{1d20}' | '\u{28b}' => 'v',
        '\u{1d21}' => 'w',
        '\u{28f}' => 'y',
        '\u{1d22}' => 'z',
        _ => return None,
    })
}

fn cherokee(c: char) -> Option<char> {
    let capital = match u32::from(c) {
        small @ 0xab70..=0xabbf => small - 0xab70 + 0x13a0,
        other => other,
    };
    Some(match capital {
        0x13aa => 'a',
        0x13f4 => 'b',
        0x13df => 'c',
        0x13a0 | 0x13e7 => 'd',
        0x13ac => 'e',
        0x13c0 => 'g',
        0x13bb => 'h',
        0x13a5 => 'i',
        0x13ab => 'j',
        0x13e6 => 'k',
        0x13de => 'l',
        0x13b7 => 'm',
        0x13c1 => 'n',
        0x13a4 | 0x13be => 'o',
        0x13e2 => 'p',
        0x13a1 | 0x13d2 | 0x13b1 => 'r',
        0x13d5 | 0x13da => 's',
        0x13a2 => 't',
        0x13cc => 'u',
        0x13d9 => 'v',
        0x13b3 | 0x13d4 => 'w',
        0x13a9 | 0x13bd => 'y',
        0x13c3 => 'z',
        _ => return None,
    })
}

fn lisu(c: char) -> Option<char> {
    const LISU_LETTERS: &[u8] = b"bp_dt_gk_jc_zf_mnlsr__vh__wxy_a_e_iou";
    let at = u32::from(c).checked_sub(0xa4d0)?;
    let letter = LISU_LETTERS.get(usize::try_from(at).ok()?)?;
    (*letter != b'_').then_some(char::from(*letter))
}

fn distant_lookalike(c: char) -> Option<char> {
    Some(match c {
        '\u{432}' | '\u{3b2}' => 'b',
        '\u{3b5}' | '\u{454}' | '\u{404}' => 'e',
        '\u{584}' => 'f',
        '\u{581}' => 'g',
        '\u{43d}' | '\u{570}' => 'h',
        '\u{582}' => 'i',
        '\u{575}' => 'j',
        '\u{43a}' | '\u{3ba}' => 'k',
        '\u{53c}' => 'l',
        '\u{43c}' => 'm',
        '\u{43f}' | '\u{418}' | '\u{438}' | '\u{3b7}' | '\u{578}' | '\u{57c}' => 'n',
        '\u{3c3}' | '\u{585}' | '\u{555}' => 'o',
        '\u{566}' => 'q',
        '\u{433}' | '\u{413}' | '\u{42f}' | '\u{44f}' => 'r',
        '\u{54f}' | '\u{3c2}' => 's',
        '\u{442}' | '\u{3c4}' => 't',
        '\u{446}' | '\u{3c5}' | '\u{3bc}' | '\u{57d}' | '\u{54d}' => 'u',
        '\u{3c9}' | '\u{448}' | '\u{428}' | '\u{561}' => 'w',
        '\u{3c7}' => 'x',
        '\u{3b3}' => 'y',
        _ => return None,
    })
}
