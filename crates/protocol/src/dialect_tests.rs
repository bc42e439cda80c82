#![allow(clippy::unwrap_used)]

use super::*;
use crate::parse;

#[test]
fn every_name_and_alias_is_read_back() {
    for dialect in CallDialect::ALL {
        assert_eq!(dialect.to_string().parse::<CallDialect>(), Ok(dialect));
        for alias in dialect.aliases() {
            assert_eq!(alias.parse::<CallDialect>(), Ok(dialect), "{alias}");
            assert_eq!(alias.replace('_', "-").to_uppercase().parse::<CallDialect>(), Ok(dialect));
        }
    }
}

#[test]
fn no_two_dialects_share_a_name() {
    let mut names: Vec<_> = CallDialect::ALL
        .iter()
        .flat_map(|d| d.aliases().iter().copied().chain([d.name()]))
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn an_unknown_name_is_told_the_known_ones() {
    let message = "gemini".parse::<CallDialect>().unwrap_err().to_string();
    insta::assert_snapshot!(message, @"Unknown dialect 'gemini'; the dialects are envelope, openai, responses, anthropic, hermes");
}

#[test]
fn every_example_is_a_request_in_its_dialect() {
    for dialect in CallDialect::ALL {
        let request = parse(dialect.example(), None).unwrap();
        assert_eq!(request.dialect, dialect);
        assert_eq!(request.calls.len(), 1);
        assert_eq!(request.calls[0].name, "read_file");
        assert_eq!(parse(dialect.example(), Some(dialect)), Ok(request));
    }
}
