use super::*;

#[test]
fn a_version_in_the_name_is_no_other_program() {
    assert_eq!(kind("gcc-13"), Some(Kind::Works));
    assert_eq!(kind("clang-17"), Some(Kind::Works));
    assert_eq!(kind("x86_64-linux-gnu-objdump"), Some(Kind::Works));
    assert_eq!(kind("b2sum"), Some(Kind::Looks));
    assert_eq!(kind("nobody-knows-this"), None);
    assert_eq!(kind("13"), None);
}

#[test]
fn nothing_that_can_run_anything_counts_as_known() {
    let unsafe_names =
        ["sh", "eval", "sudo", "python3", "perl", "rm", "dd", "xargs", "ssh", "curl", "env"];
    for name in unsafe_names {
        assert_eq!(kind(name), None, "{name}");
    }
}
