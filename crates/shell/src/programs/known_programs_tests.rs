use super::*;

#[test]
fn a_version_in_the_name_is_no_other_program() {
    assert_eq!(program_kind("gcc-13"), Some(KnownProgramKind::BuildsProject));
    assert_eq!(program_kind("clang-17"), Some(KnownProgramKind::BuildsProject));
    assert_eq!(program_kind("x86_64-linux-gnu-objdump"), Some(KnownProgramKind::BuildsProject));
    assert_eq!(program_kind("b2sum"), Some(KnownProgramKind::ReadsOnly));
    assert_eq!(program_kind("nobody-knows-this"), None);
    assert_eq!(program_kind("13"), None);
}

#[test]
fn nothing_that_can_run_anything_counts_as_known() {
    let unsafe_names =
        ["sh", "eval", "sudo", "python3", "perl", "rm", "dd", "xargs", "ssh", "curl", "env"];
    for name in unsafe_names {
        assert_eq!(program_kind(name), None, "{name}");
    }
}
