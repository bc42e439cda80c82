use crate::corpus_tests::{findings, has_effect};

#[test]
fn deleting_a_link_keeps_its_target() {
    for last in ["rm link", "rm -f ./link", "rm -rf link", "unlink link", "mv link other"] {
        let source = format!("ln -s /data/x link; {last}");
        assert!(has_effect(&source, "file:delete /home/user/project/link"), "{source}");
        assert!(!has_effect(&source, "file:delete /data/x"), "{source}");
    }
    for last in [
        "rm -rf link/",
        "rm -rf link/.",
        "rm -rf link/*",
        "cd link && rm -rf .",
        "cd link && find . -delete",
        "find -L link -delete",
        "rm -rf link/sub",
        "rm -rf link $X",
    ] {
        let source = format!("ln -s /data/x link; {last}");
        let deletes = ["file:delete /data/x", "file:delete /data/x/sub"];
        assert!(deletes.iter().any(|effect| has_effect(&source, effect)), "{source}");
    }
    assert!(has_effect("ln -s /data/x link; echo a > link", "file:write /data/x"));
    let lost = |source: &str| findings(source).contains(&"Ask git-history-loss".to_owned());
    assert!(!lost("ln -s .git link; rm link"));
    assert!(lost("ln -s .git link; cd link && find . -delete"));
}
