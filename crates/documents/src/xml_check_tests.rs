use super::find_xml_error;

#[test]
fn what_is_well_formed_is_not_told() {
    for text in [
        "",
        "<a/>",
        "<?xml version=\"1.0\"?>\n<!DOCTYPE a>\n<a b='1' c=\"<>\"><!-- x --><b>t &amp; u</b><![CDATA[<]]></a>\n",
        "<one/>\n<two/>\n",
        "<svg xmlns:x='u'><x:g/></svg>",
    ] {
        assert_eq!(find_xml_error(text), None, "{text}");
    }
}

#[test]
fn what_is_not_well_formed_is_told_with_its_place() {
    for (text, at) in [
        ("<a>\n  <b>\n</a>\n", 6),
        ("<a>\n  <b></b>\n", 0),
        ("<a></a></b>", 7),
        ("<a b='1' b='2'/>", 0),
        ("<a><b x=1/></a>", 3),
        ("<a", 0),
        ("<a><!-- x </a>", 3),
    ] {
        let fault = find_xml_error(text);
        assert!(fault.as_ref().is_some_and(|fault| fault.0 >= at), "{text}: {fault:?}");
    }
}
