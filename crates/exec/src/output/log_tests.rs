use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::clean;
use super::*;

fn spill(place: &TempDir, most: u64) -> Option<SpillTarget> {
    Some(SpillTarget {
        directory: place.path().join("logs"),
        name: "job.log".to_owned(),
        max_bytes: most,
        mask: None,
    })
}

/// Lines with their numbers, `len` bytes of them.
fn numbered(len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 16);
    let mut number = 1;
    while bytes.len() < len {
        bytes.extend_from_slice(format!("line {number}\n").as_bytes());
        number += 1;
    }
    bytes.truncate(len);
    bytes
}

#[test]
fn a_short_log_makes_no_file() {
    let place = tempfile::tempdir().unwrap();
    let mut log = OutputLog::new(spill(&place, u64::MAX));
    let bytes = numbered(MAX_MEMORY_BYTES);
    log.push(OutputStream::Stdout, &bytes);
    assert!(!place.path().join("logs").exists());
    assert_eq!(log.read_from(0, usize::MAX).bytes, bytes);
    log.push(OutputStream::Stdout, b"x");
    assert_eq!(fs::read(log.file().unwrap()).unwrap(), [&bytes[..], b"x"].concat());
    assert_eq!(log.lost_bytes(), 0);
}

#[test]
fn a_long_log_does_not_grow_in_memory() {
    let place = tempfile::tempdir().unwrap();
    let mut log = OutputLog::new(spill(&place, u64::MAX));
    let bytes = numbered(64 * 1024 * 1024);
    for chunk in bytes.chunks(100_000) {
        log.push(OutputStream::Stdout, chunk);
        assert!(
            log.head.capacity() <= 2 * MAX_MEMORY_BYTES
                && log.tail.capacity() <= 2 * KEPT_END_BYTES
        );
    }
    assert_eq!(log.head.capacity() / KEPT_END_BYTES + log.tail.capacity() / KEPT_END_BYTES, 2);
    assert_eq!(log.len(), bytes.len() as u64);
    assert_eq!(log.lines(), count_newlines(&bytes) + 1);
    for at in [
        0,
        1,
        KEPT_END_BYTES - 1,
        KEPT_END_BYTES,
        MAX_MEMORY_BYTES,
        33_333_333,
        bytes.len() - KEPT_END_BYTES - 1,
        bytes.len() - 5,
    ] {
        let piece = log.read_from(at as u64, 300_000);
        let end = (at + 300_000).min(bytes.len());
        assert_eq!((piece.from, piece.next), (at as u64, end as u64));
        assert!(piece.bytes == bytes[at..end], "at {at}");
    }
    assert_eq!(log.page(3_000_000, 2).0, ["line 3000000", "line 3000001"]);
    let path = log.file().unwrap().to_path_buf();
    assert!(fs::read(&path).unwrap() == bytes);
    log.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn what_the_disk_does_not_take_is_counted() {
    let place = tempfile::tempdir().unwrap();
    let mut log = OutputLog::new(spill(&place, 1_000_000));
    let bytes = numbered(3_000_000);
    bytes.chunks(70_001).for_each(|chunk| log.push(OutputStream::Stdout, chunk));
    let end = bytes.len() - KEPT_END_BYTES;
    assert_eq!(fs::read(log.file().unwrap()).unwrap(), bytes[..1_000_000]);
    assert_eq!(log.lost_bytes(), end as u64 - 1_000_000);
    let piece = log.read_from(999_990, 100);
    assert_eq!((piece.from, piece.next), (999_990, 1_000_000));
    let piece = log.read_from(1_000_000, 100);
    assert_eq!((piece.from, piece.next), (end as u64, end as u64 + 100));
    assert_eq!(piece.bytes, bytes[end..end + 100]);
}

#[test]
fn without_a_file_both_ends_are_kept() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("logs"), "a file where the folder should be").unwrap();
    for spill in [None, spill(&place, 0), spill(&place, u64::MAX)] {
        let mut log = OutputLog::new(spill);
        let bytes = numbered(1_000_000);
        log.push(OutputStream::Stdout, &bytes);
        assert_eq!(log.file(), None);
        assert_eq!(log.lost_bytes(), (bytes.len() - MAX_MEMORY_BYTES) as u64);
        assert_eq!(log.read_from(0, usize::MAX).bytes, bytes[..KEPT_END_BYTES]);
        assert_eq!(
            log.read_from(KEPT_END_BYTES as u64, usize::MAX).bytes,
            bytes[bytes.len() - KEPT_END_BYTES..]
        );
        log.remove().unwrap();
    }
}

#[test]
fn a_folder_without_permission_is_no_failure() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("logs");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o500)).unwrap();
    let may_write = fs::write(dir.join("probe"), "").is_ok();
    let mut log = OutputLog::new(spill(&place, u64::MAX));
    log.push(OutputStream::Stdout, &numbered(400_000));
    assert_eq!(log.file().is_some(), may_write);
    assert_eq!(log.lost_bytes() == 0, may_write);
}

#[test]
fn a_file_that_somebody_cut_is_a_loss_and_no_failure() {
    let place = tempfile::tempdir().unwrap();
    let mut log = OutputLog::new(spill(&place, u64::MAX));
    let bytes = numbered(1_000_000);
    log.push(OutputStream::Stdout, &bytes);
    fs::write(log.file().unwrap(), "").unwrap();
    let end = (bytes.len() - KEPT_END_BYTES) as u64;
    assert_eq!(log.read_from(500_000, 10).from, end);
    let summary = log.summary(1000);
    assert!(summary.text.starts_with("line 1\n") && summary.is_cut);
    let (lines, total) = log.page(1, usize::MAX);
    assert_eq!((lines.len() as u64, total), (log.lines(), log.lines()));
    assert_eq!(lines.last().unwrap(), &clean(bytes.rsplit(|&b| b == b'\n').next().unwrap()));
}

fn source() -> impl Strategy<Value = OutputStream> {
    prop_oneof![Just(OutputStream::Stdout), Just(OutputStream::Stderr)]
}

/// Output of any size, with many short lines or few long ones.
fn chunk() -> impl Strategy<Value = Vec<u8>> {
    let short = prop::collection::vec(any::<u8>(), 0..50);
    let words = "[a-z é\n]{0,40}".prop_map(String::into_bytes);
    let long = (1_usize..150_000, 1_usize..5000).prop_map(|(len, every)| {
        (0..len).map(|at| if at % every == 0 { b'\n' } else { b'a' + (at % 26) as u8 }).collect()
    });
    prop_oneof![2 => short, 3 => words, 2 => long]
}

fn check_against(log: &OutputLog, all: &[u8], at: usize, most: usize) {
    assert_eq!(log.len(), all.len() as u64);
    let mut lines: Vec<_> = all.split(|&byte| byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    assert_eq!(log.lines(), lines.len() as u64);

    let piece = log.read_from(at as u64, most);
    assert_eq!((piece.from, piece.bytes.len()), (at as u64, most.min(all.len() - at)));
    assert!(piece.bytes == all[at..at + piece.bytes.len()]);
    assert_eq!(piece.next, piece.from + piece.bytes.len() as u64);

    for first in [1, 2, lines.len() / 2, lines.len(), lines.len() + 1] {
        let (page, total) = log.page(first as u64, 7);
        let model = lines.iter().skip(first.max(1) - 1).take(7).map(|line| clean(line));
        assert_eq!(total, lines.len() as u64);
        assert_eq!(page.len(), model.len());
        for (line, model) in page.iter().zip(model) {
            let is_same = line == &model;
            assert!(is_same || line.ends_with("[line cut]") && model.len() > 16 * 1024);
        }
    }
    let last = lines.len().saturating_sub(3);
    assert_eq!(log.last_lines(3).0.len(), lines.len() - last);
    assert_eq!(log.last_lines(3), log.page(last as u64 + 1, 3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn it_is_as_good_as_all_bytes_in_memory(
        chunks in prop::collection::vec((source(), chunk()), 0..16),
        at in any::<prop::sample::Index>(),
        most in prop_oneof![0_usize..100, 0_usize..1_000_000],
    ) {
        let place = tempfile::tempdir().unwrap();
        let mut log = OutputLog::new(spill(&place, u64::MAX));
        let mut all = Vec::new();
        for (source, bytes) in &chunks {
            log.push(*source, bytes);
            all.extend_from_slice(bytes);
        }
        check_against(&log, &all, at.index(all.len() + 1), most);
        prop_assert_eq!(log.lost_bytes(), 0);

        let text = clean(&all);
        let whole = log.summary(text.len());
        prop_assert!(whole.text == text && !whole.is_cut);
        for wanted in [OutputStream::Stdout, OutputStream::Stderr] {
            let of: Vec<_> = chunks.iter().filter(|(source, _)| *source == wanted).collect();
            let own: Vec<u8> = of.into_iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            let summary = log.stream_summary(wanted, usize::MAX);
            prop_assert!(summary.text == clean(&own));
            prop_assert_eq!(summary.total_bytes, own.len() as u64);
        }
    }

    #[test]
    fn what_is_lost_is_told(
        chunks in prop::collection::vec((source(), chunk()), 0..16),
        most in 0_u64..600_000,
    ) {
        let place = tempfile::tempdir().unwrap();
        let mut log = OutputLog::new(spill(&place, most));
        let mut all = Vec::new();
        for (source, bytes) in &chunks {
            log.push(*source, bytes);
            all.extend_from_slice(bytes);
        }
        let mut at = 0;
        let mut lost = 0;
        while at < log.len() {
            let piece = log.read_from(at, 50_000);
            lost += piece.from - at;
            prop_assert!(piece.next > at);
            prop_assert!(piece.bytes == all[piece.from as usize..piece.next as usize]);
            at = piece.next;
        }
        prop_assert_eq!(lost, log.lost_bytes());

        let (page, total) = log.page(1, usize::MAX);
        prop_assert_eq!(page.len() as u64, total);
        let model: Vec<_> = all.split(|&byte| byte == b'\n').map(clean).collect();
        for (line, model) in page.iter().zip(&model) {
            let is_marked = line.contains("[not kept]") || line.ends_with("[line cut]");
            prop_assert!(line == model || is_marked);
        }
        prop_assert!(lost > 0 || !page.iter().any(|line| line.contains("[not kept]")));
    }
}

#[test]
fn a_short_log_that_is_written_out_goes_on_in_its_file() {
    let place = tempfile::tempdir().unwrap();
    let mut log = OutputLog::new(spill(&place, u64::MAX));
    let bytes = numbered(3 * MAX_MEMORY_BYTES);
    let mut written = 0;
    for chunk in bytes.chunks(50_000) {
        log.push(OutputStream::Stdout, chunk);
        written += chunk.len();
        assert_eq!(fs::read(log.spill_all().unwrap()).unwrap(), &bytes[..written]);
        assert_eq!(log.read_from(0, usize::MAX).bytes, &bytes[..written]);
        assert_eq!(log.lost_bytes(), 0);
    }
}
