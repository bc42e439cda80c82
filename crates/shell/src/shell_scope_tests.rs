use crate::FindingLevel;
use crate::corpus_tests::{findings, look};

#[test]
fn a_parameter_of_zeros_is_the_name_of_the_script() {
    for source in ["echo ${00}", "echo \"${000}\"", "set -- a; echo ${00} ${01}"] {
        assert_eq!(findings(source), Vec::<String>::new(), "{source}");
    }
    let source = "set -- /; rm -rf ${01}";
    assert_eq!(look(source).level(), Some(FindingLevel::Block));
    assert_eq!(look("bash -c '${00} -rf /' rm").level(), look("bash -c '$0 -rf /' rm").level());
}
