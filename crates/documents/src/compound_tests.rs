use super::*;
use crate::{DocumentKind, DocumentLimits, extract};

/// A container whose only stream is small and lies in sectors of 64 bytes.
fn container(stream: &[u8]) -> Vec<u8> {
    const NONE: u32 = 0xFFFF_FFFF;
    const END: u32 = 0xFFFF_FFFE;
    let mut header = vec![0_u8; 512];
    header[..8].copy_from_slice(COMPOUND_MAGIC);
    let mut put = |at: usize, value: u32| header[at..at + 4].copy_from_slice(&value.to_le_bytes());
    put(48, 1);
    put(56, 4096);
    put(60, 2);
    put(64, 1);
    put(68, END);
    put(76, 0);
    for i in 1..109 {
        put(76 + i * 4, NONE);
    }
    header[26] = 3;
    header[28..30].copy_from_slice(b"\xFE\xFF");
    header[30] = 9;
    header[32] = 6;
    header[44] = 1;
    let table = |numbers: &[u32]| {
        let mut sector = vec![0xFF_u8; 512];
        for (i, number) in numbers.iter().enumerate() {
            sector[i * 4..i * 4 + 4].copy_from_slice(&number.to_le_bytes());
        }
        sector
    };
    let mut dir = vec![0_u8; 512];
    for (at, name, start, size) in
        [(0, "Root Entry", 3, 512), (1, "Workbook", 0, stream.len() as u32)]
    {
        let entry = &mut dir[at * 128..(at + 1) * 128];
        for (i, unit) in name.encode_utf16().enumerate() {
            entry[i * 2..i * 2 + 2].copy_from_slice(&unit.to_le_bytes());
        }
        entry[64] = name.len() as u8 * 2 + 2;
        entry[66] = if at == 0 { 5 } else { 2 };
        entry[116..120].copy_from_slice(&u32::to_le_bytes(start));
        entry[120..124].copy_from_slice(&u32::to_le_bytes(size));
    }
    let chain: Vec<u32> = (1..8).chain([END]).collect();
    let mut body = stream.to_vec();
    body.resize(512, 0);
    [header, table(&[0xFFFF_FFFD, END, END, END]), dir, table(&chain), body].concat()
}

fn record(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &(body.len() as u16).to_le_bytes(), body].concat()
}

fn cell(row: u16, column: u16) -> Vec<u8> {
    let place = [row.to_le_bytes(), column.to_le_bytes()].concat();
    record(0x0203, &[place, vec![0; 10]].concat())
}

fn book(cells: &[(u16, u16)]) -> Vec<u8> {
    let mut globals = record(0x0809, &[0; 4]);
    let start = globals.len() + 4 + 8 + 4;
    globals.extend(record(0x0085, &[&(start as u32).to_le_bytes()[..], &[0; 4]].concat()));
    globals.extend(record(0x000A, &[]));
    let cells: Vec<u8> = cells.iter().flat_map(|&(row, column)| cell(row, column)).collect();
    [globals, record(0x0809, &[0; 4]), cells, record(0x000A, &[])].concat()
}

#[test]
fn cells_that_lie_close_are_fine() {
    assert_eq!(check_sheets(&container(&book(&[(0, 0), (900, 200)]))), Ok(()));
}

#[test]
fn cells_that_lie_far_apart_are_refused() {
    let far = container(&book(&[(0, 0), (65_535, 65_535)]));
    assert!(matches!(check_sheets(&far), Err(DocumentError::TooLarge(_))));
}

#[test]
fn a_chain_that_leads_back_to_itself_ends() {
    let mut looping = container(&book(&[(0, 0)]));
    // The folder's sector is followed by itself.
    looping[512 + 4..512 + 8].copy_from_slice(&1_u32.to_le_bytes());
    assert_eq!(check_sheets(&looping), Ok(()));
}

#[test]
fn the_cells_of_an_old_workbook_are_shown() {
    let begin = |kind: u16| {
        let facts = [0x0600, kind, 0x0DBB, 0x07CC, 0, 0, 0, 0].map(u16::to_le_bytes).concat();
        record(0x0809, &facts)
    };
    let number = |row: u16, column: u16, value: f64| {
        let place = [row, column, 0].map(u16::to_le_bytes).concat();
        record(0x0203, &[&place[..], &value.to_le_bytes()].concat())
    };
    let globals = begin(5);
    let start = globals.len() + 4 + 11 + 4;
    let listed = [&(start as u32).to_le_bytes()[..], &[0, 0, 3, 0], b"Old"].concat();
    let sheet = [begin(0x10), number(0, 0, 1.5), number(1, 2, 7.0), record(0x000A, &[])].concat();
    let book = [globals, record(0x0085, &listed), record(0x000A, &[]), sheet].concat();
    let extracted =
        extract(DocumentKind::OldWorkbook, &container(&book), &DocumentLimits::default()).unwrap();
    assert_eq!(extracted.text, "# Sheet: Old\n1.5\n\t\t7");
}
