use super::*;

#[test]
fn a_row_is_cut_between_whole_characters() {
    let row = StyledRow::new("ab世界", BOLD_STYLE).with("cd", DIM_STYLE);
    assert_eq!(row.width(), 8);
    let (before, after) = row.split(3);
    assert_eq!((before.text().as_str(), after.text().as_str()), ("ab", "世界cd"));
    assert_eq!(row.clone().clipped(5).text(), "ab世…");
    assert_eq!(row.clone().clipped(8), row);
}

#[test]
fn styles_are_written_as_far_as_they_may_be() {
    let row = StyledRow::new("plain ", PLAIN_STYLE).with("red", AnsiColour::Red.bold());
    let written = |palette| {
        let mut out = String::new();
        row.write(&mut out, palette);
        out
    };
    assert_eq!(written(ColourSupport::Unstyled), "plain red");
    assert_eq!(written(ColourSupport::NoColour), "plain \x1b[0;1mred\x1b[0m");
    assert_eq!(written(ColourSupport::Full), "plain \x1b[0;1;31mred\x1b[0m");
}
