//! `word_count`: counts the words of a text file.

use std::io::Read as _;

use hermes_core::{
    Effect, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError, ToolExample, ToolSpec,
    WorkingDir,
};
use hermes_files::FileAccess;
use serde::{Deserialize, Serialize};

/// The largest file that is read.
const MAX_BYTES: u64 = 8 << 20;

#[derive(Debug, Default)]
pub(crate) struct WordCount;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The file, absolute or relative to the working directory.
    path: String,
    /// Count words of at least this many characters.
    #[schemars(range(min = 1, max = 100))]
    min_length: Option<usize>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    words: usize,
    characters: usize,
}

impl Tool for WordCount {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("word_count", "file")
            .emoji("🔢")
            .description("Count the words of a text file.")
            .parameter_alias("file_path", "path")
            .read_only()
            .example(
                ToolExample::new("Count the long words", r#"{"path":"a.txt","min_length":4}"#)
                    .file("a.txt", "the quick brown fox\n")
                    .expects(r#"{"words":2,"characters":20}"#),
            )
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        vec![Effect { scope: Scope::FILE_READ, resource: Resource::Path(at.resolve(&args.path)) }]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let path = cx.working_dir.resolve(&args.path);
        let file = FileAccess::new(cx).open(&path)?;
        let mut text = String::new();
        file.take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| ToolError::io(format!("cannot read {}", path.display()), &error))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(ToolError::limit(format!("{} has more than 8 MiB", path.display()))
                .with_hint("Count a part of it with `terminal` and `wc`."));
        }
        cx.check_cancelled()?;
        let min_length = args.min_length.unwrap_or(1);
        let words = text.split_whitespace().filter(|word| word.chars().count() >= min_length);
        Ok(Output { words: words.count(), characters: text.chars().count() })
    }
}
