use super::*;

/// What is left of these pieces, and what is given up at the end.
fn sift(words: usize, pieces: &[&[u8]]) -> String {
    let mut sieve = GreetingStripper::new(b"\x1eword\x1e".to_vec(), words);
    let mut text: Vec<u8> = pieces.iter().flat_map(|piece| sieve.feed(piece)).collect();
    text.extend(&sieve.pending);
    String::from_utf8(text).unwrap()
}

#[test]
fn a_greeting_is_dropped_wherever_it_is_cut() {
    let whole = b"Welcome!\n\x1eword\x1eout\x1ew\n";
    for at in 0..whole.len() {
        let (first, second) = whole.split_at(at);
        assert_eq!(sift(1, &[first, second]), "out\x1ew\n", "{at}");
    }
}

#[test]
fn of_two_words_the_second_is_taken_out_and_nothing_else() {
    let whole = b"hi\x1eword\x1eone\n\x1eword\x1etwo\x1eword\x1e";
    for at in 0..whole.len() {
        let (first, second) = whole.split_at(at);
        assert_eq!(sift(2, &[first, second]), "one\ntwo\x1eword\x1e", "{at}");
    }
}

#[test]
fn what_has_no_word_in_it_is_passed_on_at_the_end() {
    assert_eq!(sift(1, &[b"ssh: no route", b" to host\n"]), "ssh: no route to host\n");
    let long = vec![b'x'; 3 * MAX_GREETING_BYTES];
    assert_eq!(sift(1, &[&long]).len(), MAX_GREETING_BYTES);
}

#[test]
fn what_was_brought_says_whether_there_was_a_greeting() {
    let greeting = GreetingFilter::new(StdioMode::Separate);
    let sign = String::from_utf8(greeting.marker_bytes()).unwrap();
    let mut quiet = CaptureResult {
        exit: crate::ProcessExit::Code(0),
        output: format!("{sign}out").into_bytes(),
        errors: format!("{sign}err"),
    };
    assert!(!greeting.strip_from(&mut quiet));
    assert_eq!((quiet.output.as_slice(), quiet.errors.as_str()), (&b"out"[..], "err"));
    let mut loud = CaptureResult { errors: format!("motd\n{sign}err"), ..quiet };
    assert!(greeting.strip_from(&mut loud));
    assert_eq!(loud.errors, "err");
}
