//! Synonyms of verbs, as listed in the programs' manuals.

/// Programs and their groups of synonymous verbs; the first of a group is the
/// usual one.
const VERB_SYNONYMS: &[(&str, &[&str])] = &[
    (
        "npm",
        &[
            "run run-script rum urn",
            "install i in ins inst insta instal isnt isnta isntal isntall add",
            "ci clean-install ic install-clean isntall-clean",
            "test t tst",
            "uninstall un unlink remove rm r",
            "update up upgrade udpate",
            "exec x",
            "list ls ll la",
            "view info show v",
            "config c",
            "install-test it",
            "install-ci-test cit clean-install-test sit",
            "init create innit",
            "link ln",
            "rebuild rb",
            "publish pub",
            "login adduser add-user",
            "dist-tag dist-tags",
            "owner author",
            "search s se find",
            "explain why",
        ],
    ),
    (
        "pnpm",
        &[
            "run run-script",
            "install i",
            "update up upgrade",
            "remove rm uninstall un",
            "test t tst",
            "list ls",
            "link ln",
            "rebuild rb",
        ],
    ),
    ("yarn", &["run run-script", "remove rm", "upgrade up"]),
    ("bun", &["install i", "add a", "remove rm", "x exec", "create c"]),
    ("cargo", &["build b", "check c", "test t", "run r", "doc d", "remove rm"]),
    ("docker podman", &["rm remove", "ps ls list"]),
    ("helm", &["uninstall delete del un", "list ls"]),
    ("brew", &["install instal", "uninstall rm remove", "list ls", "home homepage"]),
    ("apt apt-get", &["remove purge", "full-upgrade dist-upgrade"]),
    ("gem bundle", &["install i", "uninstall un"]),
    ("hg", &["commit ci", "update up checkout co", "status st", "remove rm"]),
    ("svn", &["commit ci", "checkout co", "delete del remove rm", "update up", "status st stat"]),
];

/// Whether two verbs of a program are synonyms.
pub(crate) fn is_same_verb(program: &str, wanted: &str, own: &str) -> bool {
    let entry =
        VERB_SYNONYMS.iter().find(|(names, _)| names.split(' ').any(|name| name == program));
    entry.is_some_and(|(_, groups)| {
        groups.iter().any(|group| {
            let has = |verb: &str| group.split(' ').any(|other| other == verb);
            has(wanted) && has(own)
        })
    })
}

#[cfg(test)]
#[path = "verb_aliases_tests.rs"]
mod tests;
