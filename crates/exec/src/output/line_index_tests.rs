use super::*;

#[test]
fn marks_get_sparse_and_stay_right() {
    let mut index = LogLineIndex::default();
    let block = "0123456789abcde\n".repeat(1024);
    // A megabyte at a time would not come upon the borders of blocks.
    let size = block.len() as u64;
    for _ in 0..40_000 {
        assert_eq!(index.add(block.as_bytes()), 1024);
    }
    assert_eq!((index.len(), index.newlines()), (40_000 * size, 40_000 * 1024));
    assert!(index.marks.len() <= MAX_MARKS);
    assert!(index.step > INITIAL_STEP_BYTES);
    for newlines in [1, 2, 1024, 1025, 7_777_777, 40_000 * 1024] {
        let (at, passed) = index.position_before(newlines);
        assert_eq!(at / 16, passed);
        assert!(passed < newlines && newlines - passed <= index.step / 16, "{newlines}");
    }
    assert_eq!(index.position_before(0), (0, 0));
}

#[test]
fn a_place_within_a_long_line_is_not_its_beginning() {
    let mut index = LogLineIndex::default();
    index.add(b"short\n");
    index.add(&vec![b'x'; 1_000_000]);
    index.add(b"\nend\n");
    assert_eq!(index.position_before(1), (0, 0));
    let (at, passed) = index.position_before(2);
    assert!(at < 1_000_006 && passed == 1);
}
