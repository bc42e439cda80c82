use super::*;

fn sift(pieces: &[&[u8]]) -> (Vec<u8>, Vec<i32>) {
    let mut sieve = ExitCodeScanner::new("word");
    let (mut text, mut codes) = (Vec::new(), Vec::new());
    for piece in pieces {
        let (passed, code) = sieve.feed(piece);
        text.extend_from_slice(&passed);
        codes.extend(code);
    }
    text.extend_from_slice(&sieve.pending);
    (text, codes)
}

#[test]
fn the_word_is_taken_out_wherever_it_is_cut() {
    let whole = b"before\x1eword:143\x1eafter";
    for first in 0..whole.len() {
        for second in first..whole.len() {
            let pieces = [&whole[..first], &whole[first..second], &whole[second..]];
            assert_eq!(sift(&pieces), (b"beforeafter".to_vec(), vec![143]), "{first} {second}");
        }
    }
}

#[test]
fn what_only_looks_like_it_stays() {
    for text in ["\x1eword", "\x1eword:1234\x1e", "\x1eother:1\x1e", "word:1\x1e", "\x1e\x1e\x1e"] {
        assert_eq!(sift(&[text.as_bytes()]), (text.as_bytes().to_vec(), vec![]), "{text:?}");
    }
}

#[test]
fn what_is_passed_on_at_once_is_all_but_a_beginning() {
    let mut sieve = ExitCodeScanner::new("word");
    assert_eq!(sieve.feed(b"a prompt: "), (b"a prompt: ".to_vec(), None));
    assert_eq!(sieve.feed(b"x\x1ewo"), (b"x".to_vec(), None));
    assert_eq!(sieve.feed(b"nder"), (b"\x1ewonder".to_vec(), None));
}
