//! Link options of the `hermes` binary.

#![allow(
    clippy::print_stdout,
    reason = "a build script communicates with cargo through \
    standard output"
)]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_gnu_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux")
        && env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    let is_native = env::var("HOST").ok() == env::var("TARGET").ok();
    // A position-independent binary has about 90,000 relative relocations,
    // which take 2 MB. The packed form (DT_RELR) takes a hundredth of that and
    // is applied faster. The dynamic linker supports it since glibc 2.36.
    if is_gnu_linux && is_native && glibc_version() >= Some((2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the glibc version of this machine; `getconf` prints "glibc 2.36".
fn glibc_version() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
