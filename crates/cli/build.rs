//! How the program is linked.

#![allow(clippy::print_stdout)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HERMES_PIE");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|it| it == value);
    // At a place that is known beforehand no address has to be written into the
    // program when it starts: 90,000 of them, on 400 pages, are half of the time
    // that `hermes --version` takes. Heap, stack and libraries are still put
    // where chance has it. Whoever wants that of the program as well sets
    // HERMES_PIE.
    let is_wanted = std::env::var_os("HERMES_PIE").is_some();
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_wanted {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
