use serde_json::json;

use super::*;

#[test]
fn what_is_not_said_is_as_usual() {
    for nothing in [Value::Null, json!({}), json!({"api_key": "k", "inherit_mcp_toolsets": true})] {
        assert_eq!(DelegationSettings::read(&nothing), Ok(DelegationSettings::default()));
        assert_eq!(MixtureSettings::read(&nothing), Ok(MixtureSettings::default()));
    }
}

#[test]
fn what_is_said_counts() {
    let section = json!({
        "model": "small-1", "provider": "work", "max_concurrent_children": 5, "max_spawn_depth": 1,
        "max_iterations": 20, "child_timeout_seconds": 0, "orchestrator_enabled": false,
        "max_summary_chars": 9_000, "blocked_tools": ["terminal"], "max_background": 0,
        "default_toolsets": ["file"],
    });
    let expected = DelegationSettings {
        model: Some("work:small-1".to_owned()),
        max_parallel: 5,
        max_depth: 1,
        max_rounds: 20,
        time_limit: None,
        max_summary_chars: 9_000,
        blocked: vec!["terminal".to_owned()],
        default_toolsets: Some(vec!["file".to_owned()]),
        allow_orchestrators: false,
        max_background: 0,
    };
    assert_eq!(DelegationSettings::read(&section), Ok(expected));
    let timed = DelegationSettings::read(&json!({"child_timeout_seconds": 1.5}));
    assert_eq!(timed.map(|timed| timed.time_limit), Ok(Some(Duration::from_millis(1_500))));
}

#[test]
fn a_mixture_is_found_among_the_presets() {
    let one = json!({
        "reference_models": ["a", {"provider": "openrouter", "model": "b/c"}],
        "aggregator": {"model": "d"}, "reference_temperature": null, "max_tokens": 100,
        "layers": 2, "min_successful_references": 2, "timeout_seconds": 60,
    });
    let presets = json!({"default_preset": "one", "presets": {"one": one, "two": {"layers": 3}}});
    let read = MixtureSettings::read(&presets);
    assert_eq!(read, MixtureSettings::read(&one));
    let expected = MixtureSettings {
        references: vec!["a".to_owned(), "openrouter:b/c".to_owned()],
        aggregator: Some("d".to_owned()),
        layers: 2,
        min_answers: 2,
        reference_temperature: None,
        max_tokens: 100,
        reply_timeout: Duration::from_secs(60),
        ..MixtureSettings::default()
    };
    assert_eq!(read, Ok(expected));
    let mut other = presets;
    other["active_preset"] = json!("two");
    assert_eq!(MixtureSettings::read(&other).map(|mixture| mixture.layers), Ok(3));
    other["active_preset"] = json!("three");
    assert_eq!(MixtureSettings::read(&other), Err("moa.presets.three does not exist".to_owned()));
}

#[test]
fn a_slip_is_named() {
    let slips = [
        json!({"max_iterations": 0}),
        json!({"max_iterations": "many"}),
        json!({"max_spawn_depth": 300}),
        json!({"child_timeout_seconds": -1}),
        json!({"child_timeout_seconds": 1e300}),
        json!({"orchestrator_enabled": "yes"}),
        json!({"blocked_tools": ["a", 1]}),
        json!({"default_toolsets": "file"}),
        json!({"model": 3}),
    ];
    for slip in slips {
        let key = slip.as_object().and_then(|fields| fields.keys().next().cloned());
        let said = DelegationSettings::read(&slip).unwrap_err();
        assert!(
            said.starts_with(&format!("delegation.{} must be", key.unwrap_or_default())),
            "{said}"
        );
    }
    assert!(DelegationSettings::read(&json!([])).is_err());
    for slip in [json!({"reference_models": "a"}), json!({"aggregator": {}}), json!({"layers": 0})]
    {
        assert!(MixtureSettings::read(&slip).is_err(), "{slip}");
    }
}

#[test]
fn a_provider_alone_means_its_usual_model() {
    let model = |section: Value| DelegationSettings::read(&section).expect("it is right").model;
    assert_eq!(model(json!({"provider": "anthropic"})).as_deref(), Some("anthropic:"));
    assert_eq!(model(json!({"provider": "auto", "model": "m"})).as_deref(), Some("m"));
    assert_eq!(model(json!({"provider": "auto"})), None);
}
