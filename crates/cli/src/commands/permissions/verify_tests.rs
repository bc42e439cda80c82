use super::*;

fn probe(got: Got) -> ProbeResult {
    ProbeResult { what: String::new(), wanted: Got::Blocked, got, detail: String::new() }
}

#[test]
fn untried_probes_are_never_called_a_sandbox_that_holds() {
    for (probes, verdict) in [
        (vec![], SandboxVerdict::Untried),
        (vec![probe(Got::Untried), probe(Got::Untried)], SandboxVerdict::Untried),
        (vec![probe(Got::Untried), probe(Got::Blocked)], SandboxVerdict::HoldsWhereTried),
        (vec![probe(Got::Blocked)], SandboxVerdict::Holds),
        (vec![probe(Got::Permitted), probe(Got::Untried)], SandboxVerdict::Broken),
    ] {
        assert_eq!(SandboxVerdict::new(&probes), verdict);
    }
}
