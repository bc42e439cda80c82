use crate::Redactor;

const VALUE: &str = "V-A_1ue9QwErTyZ";

fn redact(text: &str) -> String {
    Redactor::new([("RX", VALUE)]).expect("one secret").redact(text).into_owned()
}

/// Formats lines of `width` bytes, each after an offset.
fn dump(width: usize, offsets: bool, form: impl Fn(u8) -> String) -> String {
    let text = format!("the value is {VALUE}\n");
    let line = |(number, bytes): (usize, &[u8])| {
        let offset = if offsets { format!("{:07o}", number * width) } else { String::new() };
        let shown: String = bytes.iter().map(|byte| form(*byte)).collect();
        format!("{offset}{shown}\n")
    };
    text.as_bytes().chunks(width).enumerate().map(line).collect()
}

#[test]
fn a_value_is_found_in_dumps_of_other_notations() {
    let character = |byte: u8| match byte {
        b'\n' => "  \\n".to_owned(),
        _ => format!("   {}", char::from(byte)),
    };
    for text in [
        dump(16, true, |byte| format!(" {byte:03o}")),
        dump(16, true, |byte| format!(" {byte:3}")),
        dump(16, true, character),
        dump(16, false, character),
        dump(6, true, |byte| format!(" {byte:08b}")),
        format!("{:?}", VALUE.as_bytes()),
        VALUE.bytes().map(|byte| format!("{byte} ")).collect(),
    ] {
        let clean = redact(&text);
        assert!(clean.contains("[secret:RX]"), "{text}\n{clean}");
        assert_ne!(clean.len(), text.len());
    }
    let with_text = "00000000: 01010110 00101101 01000001 01011111 00110001 01110101  V-A_1u\n\
                     00000006: 01100101 00111001 01010001 01110111 01000101 01110010  e9QwEr\n\
                     0000000c: 01010100 01111001 01011010                             TyZ\n";
    let clean = redact(with_text);
    assert!(clean.contains("[secret:RX]") && !clean.contains("e9QwEr"), "{clean}");
}

#[test]
fn other_numbers_and_columns_stay() {
    for text in [
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]",
        "0000000 101 102 103 104 105 106 107 110 111 112 113 114 115 116 117 120\n",
        "0000000   t   h   e       v   a   l   u   e       i   s       h   e   r\n",
        "|   a   |   b   |   c   |\n|---|---|---|\n|   1   |   2   |   3   |",
        "10101010 11001100 11110000 00001111 01010101",
    ] {
        assert_eq!(redact(text), text);
    }
}
