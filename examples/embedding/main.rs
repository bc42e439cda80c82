//! Embeds hermes: registers a tool, and dispatches a batch of calls.
//!
//! ```sh
//! cargo run -p hermes --example embedding
//! ```

#![allow(clippy::print_stdout)]

mod word_count;

use std::error::Error;
use std::path::Path;

use hermes::Hermes;
use hermes::core::{ToolCall, ToolResult};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    for result in run(directory.path()).await? {
        println!("{} {}", result.name, result.content);
    }
    Ok(())
}

/// Runs the batch in a workspace below `directory`.
pub async fn run(directory: &Path) -> Result<Vec<ToolResult>, Box<dyn Error>> {
    let workspace = directory.join("workspace");
    std::fs::create_dir_all(&workspace)?;
    let hermes = Hermes::builder()
        .home(directory.join("home"))
        .workspace(&workspace)
        .families(&["file", "system"])
        .tool(word_count::WordCount)
        .profile("default")
        .build()?;
    // The first call writes what the second and third read, so they wait for it. The last one
    // needs approval; the caller has no approver, so it is refused.
    let calls = vec![
        ToolCall::new("1", "write_file", json!({"path": "a.txt", "content": "one two three\n"})),
        ToolCall::new("2", "word_count", json!({"file_path": "a.txt", "min_length": "4"})),
        ToolCall::new("3", "terminal", json!({"command": "wc -c < a.txt"})),
        ToolCall::new("4", "write_file", json!({"path": "/opt/b.txt", "content": ""})),
    ];
    let results = hermes.dispatch(calls, &hermes.caller()).await;
    hermes.close().await?;
    Ok(results)
}
