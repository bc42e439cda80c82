//! The scripted model server as a program:
//!
//! ```text
//! model_server SCRIPT.json [--port PORT] [--log FILE]
//! ```
//!
//! It prints its base URL and serves the script until it is killed. A script
//! that is a list is the list of its scenes. With `--log`, every request is
//! written to the file, one per line.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;

use hermes_testkit::models::{ModelServer, ServerScript};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut path, mut port, mut log) = (None, 0, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--port" => port = arguments.next().ok_or("--port needs a number")?.parse()?,
            "--log" => log = Some(PathBuf::from(arguments.next().ok_or("--log needs a file")?)),
            _ => path = Some(argument),
        }
    }
    let path = path.ok_or("usage: model_server SCRIPT.json [--port PORT] [--log FILE]")?;
    let script: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let script = match script {
        Value::Array(scenes) => ServerScript::from(
            scenes.into_iter().map(serde_json::from_value).collect::<Result<Vec<_>, _>>()?,
        ),
        script => serde_json::from_value(script)?,
    };
    let server = ModelServer::open(script, port, log.as_deref())?;
    writeln!(std::io::stdout(), "{}", server.url())?;
    loop {
        std::thread::park();
    }
}
