//! `read_file`: numbered lines of a text file, one page at a time; the text of
//! documents; a description of other files.

use std::path::Path;

use hermes_core::{
    Effect, ErrorKind, JsonSchema, OutputLimits, ResultLimit, Scope, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir, answer_schema,
};
use hermes_files::FileAccess;
use hermes_text::codec::TextFormat;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::aliases;
use crate::blocking::off_thread;
use crate::charset;
use crate::content::DetectedContent;
use crate::extraction::extract_text;
use crate::image;
use crate::line_index_cache;
use crate::lines::{NewlineEncoding, fill_buffer};
use crate::path_text;
use crate::seen_files::{self, FileHash, FileSighting};
use crate::source::SeekableFile;
use crate::unchanged::{self, is_repeat};
use crate::versions;

mod answer;
mod names;
mod page;
mod range;

use answer::{BinaryAnswer, Output, TextAnswer, UnchangedAnswer};
use page::{LinePage, PageRequest, TextDecoding};

/// Bytes of a file sampled to detect its format.
const SAMPLE_BYTES: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(crate) struct ReadFile;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File to read.
    path: String,
    /// First line, from 1; -20: the last 20 lines.
    #[serde(default = "first_line")]
    offset: i64,
    /// Number of lines, at most 2000.
    #[serde(default = "usual_lines")]
    #[schemars(range(min = 1))]
    limit: u64,
    /// Continue in line `offset` at this character (from 1).
    #[schemars(range(min = 1))]
    column: Option<u64>,
    /// Read bytes instead, from this one (from 0): text, or hex if binary.
    byte_offset: Option<u64>,
    /// Byte count.
    #[schemars(range(min = 1))]
    byte_limit: Option<u64>,
    /// If not detected, such as windows-1252.
    encoding: Option<String>,
    /// Show a document as stored, not its text.
    #[serde(default)]
    raw: bool,
    /// Show it even if unchanged since the last read.
    #[serde(default)]
    fresh: bool,
    /// List only the variable names of a dotenv file.
    #[serde(default)]
    names_only: bool,
}

fn first_line() -> i64 {
    1
}

fn usual_lines() -> u64 {
    500
}

impl Tool for ReadFile {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        aliases::add_file_aliases(ToolSpec::new("read_file", "file"))
            .emoji("📖")
            .description(
                "Read a text file of any size as numbered lines (`N|text`), page by page. \
                 Notebooks, PDF, docx, xlsx, pptx, odt and ods give their text; other binary \
                 files are described.",
            )
            .alias("file_read")
            .alias("read")
            .alias("view")
            .alias("view_file")
            .parameter_alias("start_line", "offset")
            .parameter_alias("start", "offset")
            .parameter_alias("line", "offset")
            .parameter_alias("start_line_one_indexed", "offset")
            .parameter_alias("max_lines", "limit")
            .parameter_alias("num_lines", "limit")
            .parameter_alias("line_count", "limit")
            .parameter_alias("start_column", "column")
            .parameter_alias("charset", "encoding")
            .read_only()
            .in_call_order()
            .result_limit(ResultLimit::Unbounded)
            .keyword("cat")
            .keyword("view")
            .keyword("open")
            .keyword("show")
            .keyword("head")
            .keyword("tail")
            .keyword("lines")
            .keyword("text")
            .keyword("pdf")
            .keyword("notebook")
            .keyword("spreadsheet")
            .example(
                ToolExample::new(
                    "The second line of a file",
                    r#"{"path":"notes.txt","offset":2,"limit":1}"#,
                )
                .file("notes.txt", "alpha\nbeta\ngamma\n")
                .expects(
                    r#"{"content":"2|beta","total_lines":3,"truncated":true,"next_offset":3}"#,
                ),
            )
            .example(
                ToolExample::new("The last lines of a log", r#"{"path":"app.log","offset":-2}"#)
                    .file("app.log", "start\nwork\nfail\nstop\n")
                    .expects(r#"{"content":"3|fail\n4|stop","total_lines":4,"truncated":false}"#),
            )
            .example(
                ToolExample::new(
                    "Which variables a dotenv file sets",
                    r#"{"path":".env","names_only":true}"#,
                )
                .file(".env", "# settings\nPORT=8080\nexport API_TOKEN='abc'\n")
                .expects(r#"{"names":["PORT","API_TOKEN"]}"#),
            )
            .example(
                ToolExample::new(
                    "The first bytes",
                    r#"{"path":"a.bin","byte_offset":0,"byte_limit":4}"#,
                )
                .file("a.bin", "\u{1}\0\0A\0\0")
                .expects(r#"{"content":"00000000  01 00 00 41  |...A|","next_byte_offset":4}"#),
            )
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<Output>())
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let path = path_text::resolve(at, &args.path);
        // The second effect marks for the policy that no value is shown.
        let names = args.names_only.then(|| Effect::path(Scope::ENV_READ, &path));
        std::iter::once(Effect::path(Scope::FILE_READ, &path)).chain(names).collect()
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let path = path_text::resolve(&cx.working_dir, &args.path);
        off_thread(cx, move |cx| read(&args, &path, cx)).await
    }
}

fn read(args: &Args, path: &Path, cx: &ToolContext) -> Result<Output, ToolError> {
    FileAccess::new(cx).check_trailing_slash(&args.path, path)?;
    let encoding = args.encoding.as_deref().map(charset::parse_encoding).transpose()?;
    let encoding = encoding.map(|(encoding, _)| encoding);
    let mut source = SeekableFile::open(path, cx).inspect_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            seen_files::record_missing(cx, path);
        }
    })?;
    let failed = |error: std::io::Error| SeekableFile::read_error(path, cx, &error);
    if args.names_only {
        return names::read(&mut source, path).map(Output::Names);
    }
    let mut buffer =
        vec![0; SAMPLE_BYTES.min(usize::try_from(source.len()).unwrap_or(SAMPLE_BYTES))];
    let sample = fill_buffer(&mut source, &mut buffer).map_err(failed)?;
    // In-memory content is judged as a whole, as the write tools do.
    let all = source.memory().unwrap_or(sample);
    let is_whole = all.len() as u64 == source.len();
    let content = match encoding {
        Some(encoding) => {
            let content = DetectedContent::detect_as(all, format_with_bom(encoding, all));
            if let DetectedContent::Text(_) = content {
                charset::remember_encoding(cx, path, all, is_whole, encoding);
            }
            content
        }
        None => DetectedContent::detect(all, is_whole, || charset::known_encoding(cx, path)),
    };
    if args.byte_offset.is_some() || args.byte_limit.is_some() {
        let from = args.byte_offset.unwrap_or(0);
        let answer = range::read(&mut source, content, path, from, args.byte_limit);
        return answer.map(Output::Bytes).map_err(failed);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let kind =
        hermes_documents::detect_kind(&name, sample).filter(|_| !args.raw && encoding.is_none());
    if let Some(kind) = kind
        && let Some(extracted) = extract_text(path, &mut source, kind, cx)?
    {
        let inner = source.with_text(&extracted.text);
        let text = TextDecoding {
            format: TextFormat::PLAIN_UTF8,
            newline: NewlineEncoding::Byte,
            is_settled: true,
        };
        let read = PageReader { args, path, cx, sample: b"", document: Some(kind.name()) };
        return read.page(&mut source, Some(inner), text, &extracted.notes);
    }
    match content {
        DetectedContent::Binary(kind) => {
            let (width, height) = image::dimensions(sample).filter(|_| kind.is_image()).unzip();
            Ok(Output::Binary(BinaryAnswer {
                path: path_text::display_path(path),
                file_size: source.len(),
                is_binary: true,
                is_image: kind.is_image(),
                file_kind: kind.name,
                width,
                height,
                hint: format!("{} Read its bytes with byte_offset=0.", kind.advice),
            }))
        }
        DetectedContent::Text(format) => {
            let newline =
                NewlineEncoding::detect(format.encoding(), source.memory().unwrap_or(sample));
            let text = TextDecoding { format, newline, is_settled: encoding.is_some() || is_whole };
            let read = PageReader { args, path, cx, sample, document: None };
            read.page(&mut source, None, text, &[])
        }
    }
}

/// The format for `encoding`, with a byte order mark if the sample starts with
/// one.
fn format_with_bom(encoding: &'static encoding_rs::Encoding, sample: &[u8]) -> TextFormat {
    let marked = TextFormat::new(encoding, true);
    let has_mark = !marked.bom().is_empty() && sample.starts_with(marked.bom());
    TextFormat::new(encoding, has_mark)
}

/// A call that returns lines.
struct PageReader<'a> {
    args: &'a Args,
    path: &'a Path,
    cx: &'a ToolContext,
    /// Beginning of the text.
    sample: &'a [u8],
    document: Option<&'static str>,
}

impl PageReader<'_> {
    /// Reads the requested page of `file`, or of its extracted text `inner`.
    fn page(
        &self,
        file: &mut SeekableFile,
        mut inner: Option<SeekableFile>,
        text: TextDecoding,
        notes: &[String],
    ) -> Result<Output, ToolError> {
        let Self { args, path, cx, .. } = *self;
        let request = PageRequest {
            offset: args.offset,
            limit: args.limit,
            column: args.column,
            bounds: cx.ports.get::<OutputLimits>().map_or_else(OutputLimits::default, |b| *b),
        };
        let source = inner.as_mut().unwrap_or(file);
        let mut index = line_index_cache::load(cx, source, text.newline, text.start());
        let before = index.counted();
        let page = LinePage::read(source, &mut index, text, self.sample, &request)
            .map_err(|error| SeekableFile::read_error(path, cx, &error))?;
        line_index_cache::store(cx, source, &index, before);
        let hash = file.memory().map(FileHash::from_bytes);
        let version = match &hash {
            Some(hash) => hash.to_string(),
            None => format!("{:?} {}", file.stamp(), blake3::hash(page.content.as_bytes())),
        };
        let Args { offset, limit, column, encoding, raw, .. } = args;
        let what = format!("{offset} {limit} {column:?} {encoding:?} {raw}");
        let path_text = path_text::display_path(path);
        // Recorded even if the result is `unchanged`: another version may have
        // been seen in between.
        if let (Some(hash), Some(bytes)) = (hash.clone(), file.memory()) {
            versions::keep(&hash, bytes.len(), || bytes.to_vec().into());
            let whole = page.is_whole() && self.document.is_none();
            let seen = FileSighting { len: file.len(), modified: file.modified(), whole };
            seen_files::record_seen(cx, path, hash, seen);
        }
        let shown = unchanged::ShownPage { what: &what, version: &version, content: &page.content };
        if is_repeat(cx, path, shown, args.fresh) {
            return Ok(Output::Unchanged(UnchangedAnswer {
                status: "unchanged",
                message: unchanged::UNCHANGED_MESSAGE,
                path: path_text,
                dedup: true,
                content_returned: false,
                hash: hash.map(|hash| hash.to_string()),
            }));
        }
        let mut answer = TextAnswer::new(path_text, file.len(), page, &request);
        answer.hash = hash.map(|hash| hash.to_string());
        answer.set_document(self.document);
        if self.document.is_some() {
            answer.final_newline = None;
        }
        answer.add_notes(notes);
        Ok(Output::Text(answer))
    }
}
