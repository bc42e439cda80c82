//! Temporary.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
use hermes_core::Workplace;
fn main() {
    let at = Workplace::new("/home/u/ws/proj", Some("/home/u".into()));
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(file).unwrap();
        for line in text.lines() {
            for cell in line.split('\t') {
                let cell = cell.replace("\\n", "\n").replace("\\t", "\t");
                println!("{cell:?}\n{:?}", hermes_shell::analyze(&cell, &at));
            }
        }
    }
}
