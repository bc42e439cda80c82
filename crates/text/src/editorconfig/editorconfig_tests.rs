use proptest::prelude::*;

use super::*;

#[test]
fn globs_match_as_editors_match_them() {
    for (glob, path, expected) in [
        ("*", "a.c", true),
        ("*", "sub/a.c", true),
        ("*.c", "a.c", true),
        ("*.c", "deep/er/a.c", true),
        ("*.c", "a.cc", false),
        ("/*.c", "a.c", true),
        ("/*.c", "sub/a.c", false),
        ("sub/*.c", "sub/a.c", true),
        ("sub/*.c", "x/sub/a.c", false),
        ("sub/*.c", "sub/x/a.c", false),
        ("sub/**.c", "sub/x/a.c", true),
        ("**/sub/*", "x/y/sub/a", true),
        ("a?c", "abc", true),
        ("a?c", "a/c", false),
        ("[abx-z].c", "y.c", true),
        ("[abx-z].c", "c.c", false),
        ("[!ab].c", "c.c", true),
        ("[!ab].c", "a.c", false),
        ("[]x].c", "].c", true),
        ("[a/b].c", "a.c", false),
        ("[a.c", "[a.c", true),
        ("*.{js,ts}", "x/a.ts", true),
        ("*.{js,ts}", "a.py", false),
        ("*.{js,{jsx,tsx}}", "a.tsx", true),
        ("{a,b,}.c", ".c", true),
        ("{single}.c", "{single}.c", true),
        ("{single}.c", "single.c", false),
        ("a{b.c", "a{b.c", true),
        ("a{1..3}", "a2", true),
        ("a{1..3}", "a4", false),
        ("a{3..1}.c", "a3.c", true),
        ("a{-3..3}", "a-2", true),
        ("a{1..30}", "a12", true),
        ("\\*.c", "*.c", true),
        ("\\*.c", "x.c", false),
        ("{a\\,b,c}", "a,b", true),
        ("Makefile", "lib/Makefile", true),
        ("日本*", "日本語.txt", true),
    ] {
        assert_eq!(matches(glob, path), expected, "{glob} {path}");
    }
}

fn asked(texts: &[(&str, &str)], path: &str) -> Option<EditorConfigCharset> {
    let configs: Vec<EditorConfigFile<'_>> = texts
        .iter()
        .map(|(directory, text)| EditorConfigFile { dir: Path::new(directory), text })
        .collect();
    charset_for(&configs, Path::new(path))
}

#[test]
fn later_sections_and_nearer_files_win() {
    let far = ("/p", "root = true\n[*]\ncharset = utf-8\n[*.txt]\nCharset=LATIN1\n");
    let near = ("/p/sub", "# here\n[*.bat]\ncharset = utf-16le ; old\n");
    assert_eq!(asked(&[far], "/p/a.c"), Some(EditorConfigCharset::Utf8));
    assert_eq!(asked(&[far], "/p/a.txt"), Some(EditorConfigCharset::Latin1));
    assert_eq!(asked(&[near, far], "/p/sub/a.bat"), Some(EditorConfigCharset::Utf16Le));
    assert_eq!(asked(&[near, far], "/p/sub/a.txt"), Some(EditorConfigCharset::Latin1));
    assert_eq!(asked(&[], "/p/a.c"), None);
}

#[test]
fn a_root_ends_the_search_and_unset_takes_the_value_away() {
    let top = ("/", "[*]\ncharset = latin1\n");
    assert_eq!(asked(&[("/p", "\u{FEFF}root=TRUE\n"), top], "/p/a"), None);
    assert_eq!(
        asked(&[("/p", "[*]\nroot = true\n"), top], "/p/a"),
        Some(EditorConfigCharset::Latin1)
    );
    assert_eq!(asked(&[("/p", "[*]\ncharset = unset\n"), top], "/p/a"), None);
    assert_eq!(
        asked(&[("/p", "[a\ncharset = utf-8\n"), top], "/p/a"),
        Some(EditorConfigCharset::Latin1)
    );
}

#[test]
fn each_charset_has_a_format() {
    assert_eq!(EditorConfigCharset::Utf8.format(), TextFormat::PLAIN_UTF8);
    assert_eq!(EditorConfigCharset::Utf8Bom.format(), TextFormat::new(UTF_8, true));
    assert_eq!(EditorConfigCharset::Latin1.encoding(), WINDOWS_1252);
    assert_eq!(EditorConfigCharset::Utf16Be.encoding(), UTF_16BE);
}

#[test]
fn a_glob_of_many_stars_ends() {
    let path = "a".repeat(4000);
    assert!(!matches(&"*a".repeat(400).replace("aa", "a"), &format!("{path}b")));
    assert!(matches(&"{".repeat(1000), &"{".repeat(1000)));
}

proptest! {
    #[test]
    fn any_text_is_read(text in "[\\[\\]{}*?!.,/a-c=\n-]{0,60}|.{0,60}", path in "[a-c/.]{0,12}") {
        let said = read_properties(&text, &path);
        prop_assert!(said.charset.is_none_or(|value| text.contains(value)));
        for line in text.lines() {
            if let Some(glob) = SectionGlob::new(line) {
                glob.matches(&path);
            }
        }
    }

    #[test]
    fn a_plain_name_matches_itself_alone(name in "[a-z.]{1,8}", other in "[a-z.]{1,8}") {
        let below = format!("x/{name}");
        prop_assert!(matches(&name, &name) && matches(&name, &below));
        prop_assert_eq!(matches(&name, &other), name == other);
    }
}
