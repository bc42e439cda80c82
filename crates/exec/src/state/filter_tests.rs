use super::*;

#[test]
fn a_text_is_taken_out_wherever_it_is_cut() {
    let whole = b"one{ours}\ntwo{our{ours}\n{";
    for at in 0..whole.len() {
        let mut strike = TextFilter::new("{ours}\n");
        let (first, second) = whole.split_at(at);
        let mut passed = strike.feed(first);
        passed.extend(strike.feed(second));
        passed.extend(strike.finish());
        assert_eq!(passed, b"onetwo{our{", "{at}");
    }
}
