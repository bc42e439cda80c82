use crate::corpus_tests::findings;

fn is_asked(source: &str) -> bool {
    findings(source).iter().any(|found| found == "Ask git-history-loss")
}

#[test]
fn a_repository_is_known_by_its_place_not_by_its_spelling() {
    let quiet: Vec<_> = LOSSES.iter().filter(|source| !is_asked(source)).collect();
    assert!(quiet.is_empty(), "{quiet:#?}");
}

const LOSSES: &[&str] = &[
    "rm .git/refs/heads/*",
    "rm .g*/refs/heads/*",
    "rm .gi?/HEAD",
    "rm .g[i]t/HEAD",
    "rm .g*/objects/*/*",
    "rm .g*",
    "rm sub/*/.git/HEAD",
    "mv .g* /tmp/x",
    "mv .gi? x",
    "mv .git/refs /tmp",
    "shopt -s dotglob; mv * /tmp/x",
    "cd .git && rm refs/heads/master",
    "cd .git/refs; unlink heads/main",
    "cd src && rm ../.git/HEAD",
    "(cd .git; rm -f index)",
    "for f in .git/refs/heads/*; do rm $f; done",
    "ln -s .git gl; rm gl/refs/heads/master",
    "ln -s .git gl && unlink gl/HEAD",
    "ln -s .git gl; cd gl && rm HEAD",
    "ln -s .git gl; rm gl/*",
    "ln -s $PWD/.git /tmp/gl; echo x > /tmp/gl/HEAD",
    "echo x > .git/packed-refs",
    "echo x >> .git/refs/heads/main",
    ": > .git/index",
    "git log > .git/HEAD",
    "cp README.md .git/HEAD",
    "cp HEAD .git",
    "cp x .g*/HEAD",
    "mv x .git/",
    "sed -i d .git/packed-refs",
    "sed -i d .g*/p*",
    "dd if=README.md of=.git/HEAD",
    "tar xf x.tar -C .git",
    "cd .git && tar xf ../x.tar",
    "echo x | tee .git/HEAD",
    "truncate -s 5 .git/index",
    "install -m 644 x .git/modules/lib/HEAD",
    "echo x > .git/worktrees/a/HEAD",
    "rsync -a x/ .git/objects/",
];

#[test]
fn what_leaves_a_repository_whole_is_quiet() {
    let loud: Vec<_> = QUIET
        .iter()
        .map(|source| (source, findings(source)))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    assert!(loud.is_empty(), "{loud:#?}");
}

const QUIET: &[&str] = &[
    "cat .git/HEAD",
    "ls .g*",
    "ls -la .git/refs/heads",
    "head -3 .g*/packed-refs",
    "cp -r . /tmp/x",
    "cp -r .git /tmp/backup",
    "tar czf x.tgz .",
    "tar czf /tmp/git.tgz .git",
    "rm .git/index.lock",
    "rm -f .git/*.lock",
    "rm -f .git/refs/heads/main.lock",
    "cd .git && rm -f index.lock",
    "rm -f .git/objects/pack/tmp_pack_x",
    "echo build/ >> .git/info/exclude",
    "touch .git/HEAD",
    "chmod -R u+w .git",
    "cd .git && cat HEAD && cd .. && rm x.o",
    "cd .git && rm ../x.o",
    "rm .gitignore",
    "rm .gitattributes .github/x.yml",
    "rm src/index src/HEAD",
    "echo x > logs/index",
    "cp x objects/",
    "rm *.o .*.swp",
    "mv *.txt old/",
    "git -C sub gc",
    "git commit -qm x",
    "ln -s .git gl; cat gl/HEAD; rm gl",
];
