//! `read_file`: the lines of a text file, numbered, a page at a time.

use std::path::Path;

use hermes_core::{
    Effect, Example, JsonSchema, OutputBounds, ResultLimit, Scope, Tool, ToolContext, ToolError,
    ToolSpec, Workplace,
};
use serde::{Deserialize, Serialize};

use crate::blocking::off_thread;
use hermes_text::codec::TextFormat;
use crate::content::Content;
use crate::lines::fill;
use crate::source::Source;

mod page;

use page::{Page, Request};

/// How much of a file is looked at to tell its format.
const SAMPLE: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct ReadFile;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File to read.
    #[schemars(length(min = 1, max = 4096))]
    path: String,
    /// First line, from 1; negative counts from the end (-20: the last 20 lines).
    #[serde(default = "first_line")]
    offset: i64,
    /// Number of lines, at most 2000.
    #[serde(default = "usual_lines")]
    #[schemars(range(min = 1))]
    limit: u64,
    /// Read only line `offset`, from this character on (from 1): for long lines.
    #[schemars(range(min = 1))]
    column: Option<u64>,
}

fn first_line() -> i64 {
    1
}

fn usual_lines() -> u64 {
    500
}

#[derive(Debug, Serialize)]
pub(crate) struct Output {
    content: String,
    path: String,
    total_lines: u64,
    file_size: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_ending: Option<&'static str>,
    /// Said only when the last line has no line feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    final_newline: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Tool for ReadFile {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("read_file", "file")
            .emoji("📖")
            .description(
                "Read a text file as numbered lines (`N|text`). Any encoding and size; \
                 page with offset and limit.",
            )
            .alias("file_read")
            .parameter_alias("file_path", "path")
            .parameter_alias("filepath", "path")
            .parameter_alias("filename", "path")
            .parameter_alias("file", "path")
            .parameter_alias("start_line", "offset")
            .parameter_alias("start", "offset")
            .parameter_alias("line", "offset")
            .parameter_alias("max_lines", "limit")
            .parameter_alias("num_lines", "limit")
            .parameter_alias("line_count", "limit")
            .parameter_alias("start_column", "column")
            .read_only()
            .result_limit(ResultLimit::Unbounded)
            .keyword("cat")
            .keyword("view")
            .keyword("open")
            .keyword("show")
            .keyword("head")
            .keyword("tail")
            .keyword("lines")
            .keyword("text")
            .example(
                Example::new(
                    "The second line of a file",
                    r#"{"path":"notes.txt","offset":2,"limit":1}"#,
                )
                .given("notes.txt", "alpha\nbeta\ngamma\n")
                .gives(r#"{"content":"2|beta","total_lines":3,"truncated":true,"next_offset":3}"#),
            )
            .example(
                Example::new("The end of a log", r#"{"path":"app.log","offset":-2}"#)
                    .given("app.log", "start\nwork\nfail\nstop\n")
                    .gives(r#"{"content":"3|fail\n4|stop","total_lines":4,"truncated":false}"#),
            )
    }

    fn effects(&self, args: &Args, at: &Workplace) -> Vec<Effect> {
        vec![Effect::path(Scope::FILE_READ, at.resolve(&args.path))]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let path = cx.workplace.resolve(&args.path);
        off_thread(cx, move |cx| read(&args, &path, cx)).await
    }
}

fn read(args: &Args, path: &Path, cx: &ToolContext) -> Result<Output, ToolError> {
    let mut source = Source::open(path, cx)?;
    let failed = |error: std::io::Error| Source::failed(path, cx, &error);
    let file_size = source.len();
    let mut buffer = vec![0; SAMPLE.min(usize::try_from(file_size).unwrap_or(SAMPLE))];
    let sample = fill(&mut source, &mut buffer).map_err(failed)?;
    let is_whole = sample.len() as u64 == file_size;
    let format = text_format(path, sample, is_whole)?;
    let request = Request {
        offset: args.offset,
        limit: args.limit,
        column: args.column,
        bounds: cx.ports.get::<OutputBounds>().map_or_else(OutputBounds::default, |b| *b),
    };
    let page = Page::read(&mut source, format, sample, &request).map_err(failed)?;
    Ok(Output {
        truncated: page.is_cut(),
        hint: page.hint(&request),
        note: page.note(),
        content: page.content,
        path: path.to_string_lossy().into_owned(),
        total_lines: page.total,
        file_size,
        next_offset: page.next_offset,
        next_column: page.next_column,
        encoding: page.format.label(),
        line_ending: page.endings.name(),
        final_newline: (page.total > 0 && !page.is_terminated).then_some(false),
    })
}

fn text_format(path: &Path, sample: &[u8], is_whole: bool) -> Result<TextFormat, ToolError> {
    match Content::of(sample, is_whole) {
        Content::Text(format) => Ok(format),
        Content::Binary(kind) => {
            Err(ToolError::invalid(format!("{} is not text but {}", path.display(), kind.name))
                .with_hint(kind.advice)
                .with("binary", true))
        }
    }
}
