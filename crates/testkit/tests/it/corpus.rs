//! The fuzz targets on their corpus, and on damaged variants of it.

use std::path::Path;

use hermes_testkit::fuzz;

type Target = (&'static str, fn(&[u8]));

const TARGETS: [Target; 4] = [
    ("dialects", fuzz::dialects),
    ("frames", fuzz::frames),
    ("repair", fuzz::repair),
    ("coercion", fuzz::coercion),
];

#[test]
fn the_corpus_holds() {
    for (name, target) in TARGETS {
        hold(name, target, |data| damages(data, 24, ANY));
    }
}

/// Judging a command parses the rules each time, so it gets fewer variants.
#[test]
fn the_corpus_of_commands_holds() {
    hold("commands", fuzz::commands, |data| damages(data, 2, b"'"));
}

fn hold(name: &str, target: fn(&[u8]), damaged: impl Fn(&[u8]) -> Vec<Vec<u8>>) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut seen = 0;
    for entry in std::fs::read_dir(corpus.join(name)).unwrap() {
        let path = entry.unwrap().path();
        let data = std::fs::read(&path).unwrap();
        for input in std::iter::once(data.clone()).chain(damaged(&data)) {
            let held = std::panic::catch_unwind(|| target(&input)).is_ok();
            let shown = String::from_utf8_lossy(&input);
            assert!(held, "{name}: {} with input:\n{shown:.2000}", path.display());
        }
        seen += 1;
    }
    assert!(seen >= 5, "{name}: only {seen} inputs in the corpus");
}

const ANY: &[u8] = b"\"{}[,\\<\0\xff";

/// Variants of the input: truncated, with a byte changed, and with a part
/// repeated, at this many positions.
fn damages(data: &[u8], places: usize, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let step = (data.len() / places).max(1);
    for at in (0..data.len()).step_by(step) {
        out.push(data[..at].to_vec());
        for byte in bytes {
            let mut changed = data.to_vec();
            changed[at] = *byte;
            out.push(changed);
        }
        let mut doubled = data.to_vec();
        doubled.extend_from_slice(&data[at..]);
        out.push(doubled);
    }
    out
}
