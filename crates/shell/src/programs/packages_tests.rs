use crate::corpus_tests::{findings, has_effect};

#[test]
fn only_verbs_that_fetch_reach_the_network() {
    for source in [
        "npm exec cowsay",
        "npm x cowsay",
        "npm exec -- cowsay hi",
        "npm exec",
        "bun x cowsay",
        "pixi exec x",
        "pixi x x",
    ] {
        assert!(has_effect(source, "network:fetch *"), "{source}");
    }
    for source in ["cargo x", "go x", "pnpm exec eslint", "yarn exec eslint", "make x"] {
        assert!(!has_effect(source, "network:fetch *"), "{source}");
    }
    assert_eq!(findings("npm exec tsc"), Vec::<String>::new());
}
