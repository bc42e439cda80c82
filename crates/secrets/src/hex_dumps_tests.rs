use super::*;

fn shown(text: &str) -> Vec<String> {
    assert!(may_contain_dump(text), "{text}");
    dumped_bytes(text, 0)
        .iter()
        .map(|row| String::from_utf8_lossy(&row.bytes).into_owned())
        .collect()
}

#[test]
fn lists_of_bytes_are_read() {
    for text in [
        "76 61 6c 75 65 31 32 33",
        "76:61:6c:75:65:31:32:33",
        "76-61-6C-75-65-31-32-33",
        " 76 61 6c 75 65\n 31 32 33\n",
        "7661 6c75 6531 3233",
    ] {
        assert_eq!(shown(text), ["value123"], "{text}");
    }
}

#[test]
fn dumps_are_read_over_their_lines() {
    let value = "the value is v4lue-0123456789";
    for text in [
        "00000000: 7468 6520 7661 6c75 6520 6973 2076 346c  the value is v4l\n\
         00000010: 7565 2d30 3132 3334 3536 3738 39         ue-0123456789\n",
        "00000000  74 68 65 20 76 61 6c 75  65 20 69 73 20 76 34 6c  |the value is v4l|\n\
         00000010  75 65 2d 30 31 32 33 34  35 36 37 38 39           |ue-0123456789|\n0000001d\n",
        "0000000 74 68 65 20 76 61 6c 75 65 20 69 73 20 76 34 6c\n\
         0000020 75 65 2d 30 31 32 33 34 35 36 37 38 39\n0000035\n",
        "0000000 74 68 65 20 76 61 6c 75 65 20 69 73 20 76 34 6c\\n0000020 75 65 2d 30 31 32 33 34 \
         35 36 37 38 39",
    ] {
        assert!(shown(text).iter().any(|row| row.starts_with(value)), "{text}: {:?}", shown(text));
    }
}

#[test]
fn ordinary_text_is_not_suspected() {
    for text in [
        "2030-01-31T09:30:52.950Z INFO started 12 workers on 127.0.0.1:8080",
        "a bad cafe had a dead bee; be a decade ahead",
        "error[E0308]: mismatched types --> src/main.rs:12:34",
        "commit 9f8db4352c1a0d6e8b7f9f8db4352c1a0d6e8b7f",
        "total 48 -rw-r--r-- 1 root root 1234 Jan 12 10:11 a.txt",
        "",
    ] {
        assert!(!may_contain_dump(text), "{text}");
    }
}
