use proptest::prelude::*;

use super::*;

fn framed(before: &[u8], report: &[u8], after: &[u8]) -> Vec<u8> {
    [before, b"\x1e__hermes_n1_begin\n", report, b"\n__hermes_n1_end\n", after].concat()
}

fn through(stream: &[u8], pieces: usize) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut report_extractor = ReportExtractor::new("n1");
    let mut output = Vec::new();
    for piece in stream.chunks(pieces) {
        output.extend_from_slice(&report_extractor.feed(piece));
    }
    output.extend(report_extractor.finish().0);
    (output, report_extractor.report().map(<[u8]>::to_vec))
}

#[test]
fn a_report_that_never_ends_is_none() {
    let mut stream = framed(b"a", b"b", b"");
    stream.truncate(stream.len() - 2);
    assert_eq!(through(&stream, 3), (b"a".to_vec(), None));
}

#[test]
fn what_only_looks_like_a_mark_is_output() {
    let stream = b"x\x1e__hermes_n1_beg\x1e\x1e\x1e__hermes_n1_begin";
    assert_eq!(through(stream, 5), (stream.to_vec(), None));
}

#[test]
fn a_line_end_is_not_held_back() {
    let mut report_extractor = ReportExtractor::new("n1");
    assert_eq!(&*report_extractor.feed(b"ready\n"), b"ready\n");
    assert_eq!(&*report_extractor.feed(b"x\x1e__her"), b"x");
}

proptest! {
    #[test]
    fn the_report_is_taken_out_however_it_comes(
        before in "[a\n\x1e_h]{0,40}", report in "[b\n_]{0,40}", after in "[c\n]{0,40}", size in 1_usize..50,
    ) {
        let stream = framed(before.as_bytes(), report.as_bytes(), after.as_bytes());
        let (output, found) = through(&stream, size);
        prop_assert_eq!(output, [before.as_bytes(), after.as_bytes()].concat());
        prop_assert_eq!(found, Some([report.as_bytes(), b"\n"].concat()));
    }
}
