use crate::FindingLevel;
use crate::corpus_tests::{findings, look};

#[test]
fn parallel_analyzes_every_argument() {
    let many: String = (0..40).map(|at| format!(" a{at}")).collect();
    for source in [
        format!("parallel rm -rf :::{many} /"),
        format!("parallel 'rm -rf {{}}' :::{many} /"),
        format!("parallel :::{many} 'rm -rf /'"),
    ] {
        assert_eq!(look(&source).level(), Some(FindingLevel::Block), "{source}");
    }
    for source in ["parallel rm -rf ::: / $X", "parallel rm -rf {} ::: $X /"] {
        assert_eq!(look(source).level(), Some(FindingLevel::Block), "{source}");
    }
    let lines: String = (0..40).map(|at| format!("a{at}\\n")).collect();
    let source = format!("printf '{lines}/\\n' | parallel rm -rf");
    assert_eq!(look(&source).level(), Some(FindingLevel::Block), "{source}");
    assert_eq!(findings(&format!("parallel wc -l :::{many}")), Vec::<String>::new());
}

#[test]
fn too_many_arguments_of_parallel_are_asked_about() {
    let many = " a".repeat(4_500);
    let source = format!("parallel echo {} :::{many}", "x".repeat(500));
    assert!(findings(&source).contains(&"Ask too-complex".to_owned()));
    let source = format!("parallel echo {} ::: {}", "{}".repeat(40_000), "x".repeat(40_000));
    assert!(findings(&source).contains(&"Ask too-complex".to_owned()));
}
