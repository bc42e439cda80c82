use super::*;

#[test]
fn every_pattern_compiles_and_can_be_reached() {
    for prepared in &pattern_set().patterns {
        assert!(
            prepared.regex().as_str().starts_with("(?")
                || prepared.pattern.id == languages::LANGUAGE_PATTERN.id
        );
        assert!(!prepared.needs.is_empty(), "{}", prepared.pattern.id);
    }
}

#[test]
fn no_pattern_matches_nothing() {
    for prepared in &pattern_set().patterns {
        assert!(!prepared.regex().is_match(""), "{}", prepared.pattern.id);
    }
}

#[test]
fn ids_are_given_once() {
    let all =
        all::ALL_PATTERNS.iter().chain(context::CONTEXT_PATTERNS).chain(strict::STRICT_PATTERNS);
    let mut ids: Vec<_> = all.map(|pattern| pattern.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}
