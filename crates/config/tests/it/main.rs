//! A `config.yaml` shared with Hermes Agent.
#![allow(clippy::unwrap_used)]

use hermes_config::{EnvSnapshot, RawConfig};

const AGENT_DEFAULTS: &str = include_str!("../fixtures/hermes_agent_0_19_0.yaml");

fn warnings(text: &str) -> Vec<String> {
    let raw = RawConfig::parse("config.yaml", text, EnvSnapshot::default()).unwrap();
    let config = raw.resolve().unwrap();
    config.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn the_default_configuration_of_hermes_agent_is_accepted_without_warnings() {
    assert!(AGENT_DEFAULTS.contains("\n_config_version: 33\n"));
    assert_eq!(warnings(AGENT_DEFAULTS), [""; 0]);
    let newer = AGENT_DEFAULTS.replace("_config_version: 33", "_config_version: 39");
    assert_eq!(warnings(&newer), [""; 0]);
}

#[test]
fn a_misspelled_key_among_those_of_hermes_agent_is_reported() {
    let misspelled = AGENT_DEFAULTS.replace("\nfile_read_max_chars:", "\nfile_read_max_char:");
    assert_ne!(misspelled, AGENT_DEFAULTS);
    let warnings = warnings(&misspelled);
    assert!(warnings.iter().any(|text| text.contains("file_read_max_char")), "{warnings:?}");
}
