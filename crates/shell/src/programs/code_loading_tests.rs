use crate::corpus_tests::{findings, has_effect};

/// A program that an option names gets the network by way of the one that
/// runs it.
#[test]
fn programs_of_the_project_are_asked_about_if_they_get_the_network() {
    const ASKED: &[&str] = &[
        "helm template x --post-renderer ./render",
        "helm upgrade x . --post-renderer=./render",
        "pandoc --filter ./filter https://x.net",
        "pandoc --filt=filter.py https://x.net",
        "pandoc -F ./filter https://x.net",
        "pandoc --lua-filter ./filter.lua https://x.net",
        "pandoc --pdf-engine=./engine https://x.net -o x.pdf",
        "yt-dlp --downloader ./get https://x.net/v",
        "nmap --script ./own.nse x.net",
    ];
    for source in ASKED {
        let found = findings(source);
        assert!(found.contains(&"Ask program-option".to_owned()), "{source}: {found:?}");
    }
    const QUIET: &[&str] = &[
        "helm template x",
        "pandoc --filter ./filter README.md -o x.html",
        "pandoc --filter pandoc-crossref https://x.net -o x.html",
        "pandoc README.md --pdf-engine=xelatex -o x.pdf",
        "yt-dlp --downloader aria2c https://x.net/v",
    ];
    for source in QUIET {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn packages_for_one_run_are_asked_about_and_fetched() {
    let source = "uv run --with evil python x.py";
    assert_eq!(findings(source), ["Ask remote-code"]);
    assert!(has_effect(source, "network:fetch *"));
}

/// These were allowed, but without a network they could only fail.
#[test]
fn what_cannot_be_done_without_the_network_says_so() {
    let fetch = "git svn fetch|git lfs pull|npm pack evil|npm ping|npm whoami";
    for source in fetch.split('|') {
        assert!(has_effect(source, "network:fetch *"), "{source}");
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
    assert!(has_effect("git lfs push origin main", "network:send git push"));
    assert!(has_effect("wasm-pack publish", "network:send *"));
    for source in ["npm pack", "npm pack ./dir", "wasm-pack build --target web"] {
        assert!(!has_effect(source, "network:fetch *"), "{source}");
    }
}
