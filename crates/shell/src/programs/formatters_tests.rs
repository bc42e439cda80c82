use crate::corpus_tests::has_effect;

/// Programs that change files in their place were taken for readers.
#[test]
fn what_is_changed_in_its_place_is_written() {
    const WRITING: &[&str] = &[
        "ruby -i -pe 'gsub(/a/, \"b\")' F",
        "ruby -pi.bak -e 'gsub(/a/, \"b\")' F",
        "perl -pi -e 's/a/b/' F",
        "tidy -m F",
        "tidy -qim F",
        "dasel put -f F -v 1 a",
        "dasel delete -f F a",
        "ffmpeg -i in.mp4 -c copy F",
        "ffmpeg -i https://x.net/in.m3u8 F",
        "yq -i '.a = 1' F",
        "sponge F",
        "prettier --write F",
        "gofmt -w F",
        "shfmt -i 2 -w F",
        "black F",
        "black -l 100 F",
        "isort F",
        "sd a b F",
        "dos2unix F",
        "rustfmt F",
        "yapf -ir F",
        "codespell -w F",
    ];
    let write = "file:write /home/user/project/F";
    let reading: Vec<_> = WRITING.iter().filter(|source| !has_effect(source, write)).collect();
    assert!(reading.is_empty(), "{reading:#?}");
    const READING: &[&str] = &[
        "ruby -pe 'gsub(/a/, \"b\")' F",
        "tidy -q F",
        "dasel -f F a",
        "dasel put -f F -o out -v 1 a",
        "gofmt -l F",
        "black --check F",
        "sd -p a b F",
        "ffmpeg -i F",
    ];
    let writing: Vec<_> = READING.iter().filter(|source| has_effect(source, write)).collect();
    assert!(writing.is_empty(), "{writing:#?}");
}
