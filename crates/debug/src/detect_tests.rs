use hermes_core::ErrorKind;

use super::*;

fn said(pairs: &[(&str, &str)]) -> Result<DetectedDebugger, ToolError> {
    let text: String = pairs.iter().map(|(key, value)| format!("{key}={value}\0")).collect();
    parse_detection(&text, Some(Path::new("/p/a b")))
}

#[test]
fn a_file_that_is_not_there_comes_first() {
    let error = said(&[("real", "/p"), ("missing", "/p/x=y"), ("kind", "unknown")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("/p/x=y"), "{error:?}");
}

#[test]
fn an_old_gdb_is_not_enough() {
    let old =
        said(&[("kind", "native"), ("gdb", "/g"), ("version", "GNU gdb (Debian 13.1-3) 13.1")]);
    let error = old.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("gdb 13"), "{error:?}");
    let new = said(&[("kind", "native"), ("gdb", "/g"), ("version", "GNU gdb (GDB) 16.3")]);
    assert_eq!(new.unwrap().adapter, DebugAdapter::Gdb);
    let both =
        [("kind", "native"), ("lldb", "/l"), ("gdb", "/g"), ("version", "GNU gdb (GDB) 16.3")];
    assert_eq!(said(&both).unwrap().tool, Path::new("/l"));
}

#[test]
fn what_cannot_be_debugged_is_said() {
    for kind in ["script", "unknown"] {
        assert_eq!(said(&[("kind", kind)]).unwrap_err().kind(), ErrorKind::InvalidArguments);
    }
    let plain = said(&[("kind", "native"), ("plain", "/p/a b"), ("lldb", "/l")]);
    assert_eq!(plain.unwrap_err().kind(), ErrorKind::InvalidArguments);
    assert_eq!(said(&[("kind", "python")]).unwrap_err().kind(), ErrorKind::Unavailable);
}
