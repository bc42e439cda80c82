//! How fast it is: printed, not judged. Run in release, by name.

use std::time::Instant;

use super::{OutputLog, OutputStream, clean};

fn tell(what: &str, bytes: usize, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    let seconds = start.elapsed().as_secs_f64();
    println!("{what}: {:.2} GB/s", bytes as f64 / seconds / 1e9);
}

#[test]
#[ignore = "a measurement"]
fn speed_of_push_and_clean() {
    let chunk = "a line of some length, as they come out of a compiler or a test\n".repeat(4096);
    for size in [64 * 1024, 256 * 1024] {
        let chunk = &chunk.as_bytes()[..size];
        let count = 1_000_000_000 / size;
        tell(&format!("push in {size} bytes"), count * size, || {
            let mut log = OutputLog::new(None);
            (0..count).for_each(|_| log.push(OutputStream::Stdout, chunk));
            assert_eq!(log.len(), (count * size) as u64);
        });
    }
    let colours = "\x1b[1m\x1b[32mok\x1b[0m some words of a line\n".repeat(30_000);
    let progress = "\r 50%|█████     | 5/10 [00:00<00:00, 49.80it/s]".repeat(20_000);
    let ends = chunk.replace('\n', "\r\n").repeat(4);
    let plain = chunk.repeat(4);
    let umlauts = "grüße aus der ferne, größtenteils\n".repeat(30_000);
    for (what, text) in [
        ("plain", &plain),
        ("umlauts", &umlauts),
        ("\\r\\n", &ends),
        ("colours", &colours),
        ("progress", &progress),
    ] {
        tell(&format!("clean {what}, {} bytes", text.len()), text.len() * 10, || {
            let len: usize = (0..10).map(|_| clean(text.as_bytes()).len()).sum();
            assert!(len > 0);
        });
    }
}
