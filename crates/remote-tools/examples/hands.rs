//! The far end with the file tools and nothing else: what `hermes hands` is,
//! for programs that embed the tools and for the tests of this crate.

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("--version") {
        return writeln!(io::stdout(), "hands {}", env!("CARGO_PKG_VERSION"));
    }
    hermes_remote_tools::serve(hermes_tools_file::tools(), io::stdin().lock(), io::stdout())
}
