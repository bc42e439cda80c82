use super::*;

#[test]
fn only_the_end_is_kept_and_shown_in_whole_lines() {
    let tail = StderrTail::default();
    for number in 0..10_000 {
        tail.push(format!("line {number}\n").as_bytes());
    }
    tail.push(&vec![b'x'; 3 * MAX_KEPT_BYTES]);
    tail.push(b"\n\x1b[31mred\x1b[0m and \xff\x07\nlast");
    assert_eq!(tail.lock().len(), MAX_KEPT_BYTES);
    assert_eq!(tail.text(), "red and \u{fffd}\nlast");
}

#[test]
fn a_short_text_is_shown_whole() {
    let tail = StderrTail::default();
    assert_eq!(tail.text(), "");
    tail.push(b"  one\ntwo\n");
    assert_eq!(tail.text(), "one\ntwo");
}

#[tokio::test]
async fn a_stream_is_read_to_its_end() {
    let tail = Arc::new(StderrTail::default());
    let text = "y".repeat(100_000) + "\nthe end\n";
    Arc::clone(&tail).read_to_end(text.as_bytes()).await;
    assert_eq!(tail.text(), "the end");
}
