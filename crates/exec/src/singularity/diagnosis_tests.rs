use super::*;

#[test]
fn causes_have_a_next_step() {
    for (sign, cause, step) in KNOWN_CAUSES {
        let said = format!("INFO:    x\nFATAL:   it failed: {sign}\n");
        let error = start_error("apptainer", "x.sif", &said);
        assert!(error.message().contains(cause), "{error}");
        assert!(error.message().contains("it failed"), "{error}");
        assert_eq!(error.hint(), step);
    }
    let error = start_error("apptainer", "x.sif", "FATAL:   something new\n");
    assert!(error.message().contains("something new"), "{error}");
    assert!(error.hint().contains("by hand"), "{error}");
}
