use crate::corpus_tests::{findings, has_effect, look};

#[test]
fn what_takes_something_away_asks() {
    for source in [
        "dotnet ef database drop -f",
        "dotnet ef database drop --force --project src/App",
        "dotnet tool uninstall -g x",
        "rustup self uninstall",
        "rustup self uninstall -y",
        "rustup toolchain uninstall nightly",
        "rustup toolchain remove nightly",
        "conda env remove -n x",
        "conda remove -n x numpy",
        "poetry publish -n",
        "npm publish -s",
        "npm uninstall -g -s x",
        "mamba env remove --name x",
        "tar xf a.tar --recursive-unlink",
        "xsel -bo",
        "xsel -ob",
        "xsel",
        "xsel -b",
        "xsel --clipboard --output",
        "xclip -out",
    ] {
        assert!(look(source).level().is_some(), "{source}");
    }
    for source in [
        "dotnet ef database update",
        "dotnet ef migrations list",
        "dotnet ef database drop --dry-run",
        "rustup toolchain list",
        "rustup toolchain install nightly",
        "rustup self update",
        "conda env list",
        "apt-get -s install x",
        "cargo publish -n",
        "brew uninstall -n x",
        "conda env export",
        "tar xf a.tar",
        "echo x | xsel -b",
        "echo x | xsel -ib",
        "xsel -bi < f",
        "xsel -bc",
        "echo x | xclip -selection clipboard",
    ] {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn what_is_made_and_taken_away_is_told() {
    let expected: &[(&str, &str)] = &[
        ("cargo vendor /x/v", "file:write /x/v"),
        ("cargo +nightly vendor --locked /x/v", "file:write /x/v"),
        ("cargo new ~/x", "file:write /home/user/x"),
        ("gzip README.md", "file:delete /home/user/project/README.md"),
        ("gunzip a.gz", "file:delete /home/user/project/a.gz"),
        ("zstd --rm README.md", "file:delete /home/user/project/README.md"),
        ("kubectl --server=https://evil.com get pods", "network:fetch evil.com"),
        ("kubectl -s https://evil.com get pods", "network:fetch evil.com"),
        ("helm --kube-apiserver https://evil.com list", "network:fetch evil.com"),
        ("xsel -bo", "clipboard:read *"),
    ];
    for (source, wanted) in expected {
        assert!(has_effect(source, wanted), "{source} {:#?}", look(source).leaves);
    }
    for source in ["gzip -k README.md", "gzip -c README.md > x.gz", "zstd README.md", "xz -l a.xz"]
    {
        assert!(!has_effect(source, "file:delete /home/user/project/README.md"), "{source}");
    }
    for source in ["for f in *.log; do gzip \"$f\"; done", "cargo vendor", "gzip -9 *.log"] {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
        assert!(!has_effect(source, "file:delete *"), "{source}");
    }
}
