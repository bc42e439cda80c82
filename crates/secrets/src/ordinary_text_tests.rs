use super::*;

/// The text with `.` in place of each ordinary letter.
fn shown(text: &str) -> String {
    let ordinary = ordinary_letters(text.as_bytes());
    text.chars().zip(ordinary).map(|(c, ordinary)| if ordinary { '.' } else { c }).collect()
}

#[test]
fn words_rows_and_prefixes_are_ordinary() {
    for (text, left) in [
        ("", ""),
        ("sk-ant-api03-Xq7Zk2Wm9Vt4N", ".............Xq7Zk2Wm9Vt4N"),
        ("github_pat_11Xq7Zk2Wm9", "...........11Xq7Zk2Wm9"),
        ("bv-fzv_bq2", "...fzv_bq2"),
        ("PostgresAdmin17", ".............17"),
        ("HTTPServer-x9", "HTTP......-x9"),
        ("correct-horse-battery-staple", ".......-.....-.......-......"),
        ("q7abcdef0000zk9", "q7..........zk9"),
        ("x8Kd93jfLs2Wq", "x8Kd93jfLs2Wq"),
        ("wkqzjfhx9", "wkqzjfhx9"),
    ] {
        assert_eq!(shown(text), left, "{text}");
    }
}

#[test]
fn a_first_part_that_is_no_name_is_no_prefix() {
    for text in ["x7Qz-9Kw2", "8f3k-2m9d", "aB-9Kw2Zq", "zzqxwvk-9", "Bv-Fzvbb2_Jzq2_VB"] {
        assert_eq!(shown(text), text);
    }
}
