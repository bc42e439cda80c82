//! Whatever comes in, an answer comes out.

use proptest::prelude::*;

use crate::corpus_tests::{EVERYDAY, findings, look};
use crate::{CommandPattern, FindingLevel};

/// What opens something that must be closed.
const NESTING: &[&str] = &[
    "(",
    "$(",
    "{ ",
    "if ",
    "\"$(",
    "${x:-",
    "$((",
    "<(",
    "f() ",
    "a=(",
    "[[ $(",
    "while ",
    "case x in x) ",
    "! ",
    "time ",
    "sudo ",
    "bash -c ",
    "eval ",
    "$[",
    "coproc ",
    "for x in $(",
];

/// What means something to a shell, or nearly.
const PIECES: &[&str] = &[
    ";",
    "&",
    "|",
    "<",
    ">",
    "<<a ",
    "\n",
    "{",
    "}",
    "{a,b}",
    "$",
    "`",
    "'",
    "\"",
    "\\",
    "*",
    "((",
    "))",
    "$((",
    "x=1;",
    "f(){ f;};",
    "<<E\n",
    "x=$x$x;",
    "rm a ",
    "-exec a ; ",
    "{a,{b,",
    "@(",
    "a=(b) ",
    "?[",
    "for i in a b;do ",
    "x+=y;",
];

fn asked(source: &str) -> bool {
    look(source).level() == Some(FindingLevel::Ask)
}

#[test]
fn what_is_too_long_is_asked_about() {
    assert_eq!(findings(&"a".repeat(300 * 1024)), ["Ask too-long"]);
}

#[test]
fn a_long_literal_is_fine() {
    assert!(findings(&format!("echo '{}'", "x ".repeat(50_000))).is_empty());
    assert!(
        findings(&format!("cat > f <<'EOF'\n{}\nEOF", "rm -rf / ;\n".repeat(9_000))).is_empty()
    );
    assert!(findings(&format!("echo {}", "x".repeat(100_000))).is_empty());
}

#[test]
fn what_is_nested_too_deeply_is_asked_about() {
    for open in NESTING {
        let source = open.repeat(10_000);
        assert!(look(&source).level().is_some() || *open == "! " || *open == "bash -c ", "{open}");
    }
    assert!(asked(&format!("{}ls{}", "(".repeat(10_000), ")".repeat(10_000))));
    assert!(asked(&format!("{}ls{}", "$(".repeat(10_000), ")".repeat(10_000))));
}

#[test]
fn what_is_too_much_is_asked_about() {
    assert!(asked(&"a|".repeat(50_000)));
    assert!(asked(&"a;".repeat(50_000)));
    assert!(asked(&"(a=1);".repeat(40_000)));
}

#[test]
fn pathological_input_ends() {
    for piece in PIECES {
        let source: String = piece.repeat(100_000 / piece.len());
        for source in [source.clone(), format!("echo {source}"), format!("find {source}")] {
            let analysis = look(&source);
            assert!(analysis.leaves.len() <= 3000, "{piece}");
        }
    }
}

#[test]
fn values_that_grow_are_forgotten() {
    let source = format!("x=aaaaaaaa;{}echo $x", "x=$x$x;".repeat(64));
    assert!(
        look(&source)
            .leaves
            .iter()
            .all(|leaf| leaf.words.iter().all(|word| word.text.len() < 100_000))
    );
}

#[test]
fn deep_nesting_reaches_the_leaf() {
    for (open, close) in [("( ", " )"), ("{ ", "; }"), ("$(", ")"), ("while ", "; do :; done")] {
        for depth in [40, 60, 64] {
            let source = format!("{}rm -rf /{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(look(&source).level(), Some(FindingLevel::Block), "{depth} {open}");
        }
    }
}

#[test]
fn nesting_fits_into_a_small_stack() {
    let work = || {
        for open in NESTING {
            for count in [90, 109, 2_000] {
                let _ = look(&open.repeat(count));
            }
        }
        for (open, close) in [("$(", ")"), ("\"$(", ")\""), ("( ", " )"), ("${x:-$(", ")}")] {
            for depth in [50, 105, 109] {
                let _ = look(&format!("{}ls{}", open.repeat(depth), close.repeat(depth)));
                let inner = format!("{}f1{}", open.repeat(depth), close.repeat(depth));
                let functions: String = (0..9)
                    .map(|n| {
                        format!("f{n}() {{ {}f{}{}; }}\n", open.repeat(90), n + 1, close.repeat(90))
                    })
                    .collect();
                let _ = look(&format!("{functions}{inner}"));
            }
        }
    };
    // Less than a thread of an executor has.
    let thread = std::thread::Builder::new().stack_size(1536 * 1024).spawn(work);
    thread.expect("a thread").join().expect("no overflow");
}

/// Prints what the limits cost: `cargo test --release -- --ignored --nocapture`.
#[test]
#[ignore = "prints figures"]
#[allow(clippy::print_stderr)]
fn figures() {
    use std::time::Instant;
    let _ = look("ls");
    let mut slowest = (0, String::new());
    let mut take = |source: &str| {
        let start = Instant::now();
        let _ = look(source);
        let micros = start.elapsed().as_micros();
        if micros > 20_000 {
            eprintln!("{micros} µs: {:?} … {} bytes", source.get(..20), source.len());
        }
        if micros > slowest.0 {
            slowest = (micros, source.chars().take(30).collect());
        }
    };
    for piece in PIECES.iter().chain(NESTING) {
        for size in [1_000, 10_000, 60_000, 100_000, 250_000] {
            let source = piece.repeat(size / piece.len());
            take(&source);
            take(&format!("echo {source}"));
            take(&format!("find {source}"));
        }
    }
    for depth in [100, 109] {
        take(&format!("{}ls{}", "$(".repeat(depth), ")".repeat(depth)));
        take(&format!("{}ls{}", "f() { ".repeat(depth), "; }".repeat(depth)));
    }
    eprintln!("slowest: {} µs ({})", slowest.0, slowest.1);
    let plain = "cargo build --release --workspace 2>&1 | tail -n 40 && git status --short && ";
    let plain = format!("{}ls -la src", plain.repeat(6));
    let rich = "for f in src/*.rs; do if grep -q \"$x\" \"$f\"; then (wc -l \"$f\"); fi; done; ";
    let rich = format!("{}echo \"$(git rev-parse HEAD)\"", rich.repeat(6));
    for (name, source) in [("plain", plain), ("rich", rich)] {
        let rounds = 2_000;
        let start = Instant::now();
        for _ in 0..rounds {
            let _ = look(&source);
        }
        let whole = start.elapsed().as_nanos() / rounds;
        let analysis = look(&source);
        let start = Instant::now();
        for _ in 0..rounds {
            let _ = crate::second_parse::find_disagreement(
                &source,
                &analysis,
                &std::collections::HashSet::new(),
            );
        }
        let second = start.elapsed().as_nanos() / rounds;
        eprintln!(
            "{name}, {} bytes: {whole} ns in all, {second} ns of it second reading",
            source.len()
        );
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(source in "\\PC{0,200}") {
        let _ = look(&source);
        let _ = CommandPattern::parse(&source);
    }

    #[test]
    fn shell_like_text_is_answered(source in "[ a-c{}()$\"'`\\\\;&|<>*?\\[\\]=~!#\n\t0-9,.:-]{0,120}") {
        let _ = look(&source);
    }

    #[test]
    fn mutated_commands_are_answered(
        index in 0..EVERYDAY.len(),
        cut in 0usize..60,
        piece in "[(){}$\"'`\\\\;&|<>\n]{1,3}",
    ) {
        let source = EVERYDAY[index];
        let at = source.char_indices().map(|(at, _)| at).nth(cut).unwrap_or(source.len());
        let (left, right) = source.split_at(at);
        let _ = look(left);
        let _ = look(&format!("{left}{piece}{right}"));
    }

    #[test]
    fn a_block_is_found_after_anything_valid(index in 0..EVERYDAY.len()) {
        let source = format!("{}\nrm -rf /", EVERYDAY[index]);
        prop_assert_eq!(look(&source).level(), Some(FindingLevel::Block), "{}", source);
    }
}
