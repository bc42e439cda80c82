//! How the program is linked.

#![allow(clippy::print_stdout)]

use std::env;
use std::path::Path;
use std::process::Command;

/// Functions that run before the program waits for somebody.
const ORDER: &str = "data/startup.order";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HERMES_PIE");
    println!("cargo::rerun-if-env-changed=HERMES_SYMBOLS");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    // At a place that is known beforehand no address has to be written into the
    // program when it starts: 90,000 of them, on 400 pages, are half of the time
    // that `hermes --version` takes. Heap, stack and libraries are still put
    // where chance has it. Whoever wants that of the program as well sets
    // HERMES_PIE.
    if env::var_os("HERMES_PIE").is_none() {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    // `strip` of the profile does not reach a package with settings of its own.
    // scripts/order.py needs the names.
    if is("PROFILE", "release") && env::var_os("HERMES_SYMBOLS").is_none() {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
    // What runs at the start lies together, so that little of the program has to
    // be in memory: scripts/order.py. Only the linker that comes with the
    // compiler knows the option, and it is the usual one on this machine only.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("PROFILE", "release") && is_own_linker() {
        println!("cargo::rerun-if-changed={ORDER}");
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-bins=-Wl,--symbol-ordering-file={folder}/{ORDER}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
        // Of functions that came out alike, one is enough: generic ones mostly.
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// Whether the program is linked by what came with the compiler.
fn is_own_linker() -> bool {
    let chosen = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if chosen.contains("link") || env::var_os("RUSTC_LINKER").is_some() {
        return false;
    }
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let root = Command::new(compiler).args(["--print", "sysroot"]).output().ok();
    let root = root.and_then(|told| String::from_utf8(told.stdout).ok()).unwrap_or_default();
    let target = env::var("TARGET").unwrap_or_default();
    Path::new(root.trim()).join("lib/rustlib").join(target).join("bin/rust-lld").exists()
}
