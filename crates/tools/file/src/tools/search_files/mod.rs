//! `search_files`: searches file contents and finds files by name.

use std::path::Path;
use std::time::Duration;

use hermes_core::{
    Effect, ErrorKind, OutputLimits, ResultLimit, Scope, Tool, ToolContext, ToolError, ToolSpec,
    WorkingDir, answer_schema,
};
use hermes_files::FileAccess;
use hermes_search::{
    ContentQuery, EntryKinds, FileSelection, HiddenPathRules, MatchOutput, NameQuery, PageRange,
    PathGlob, SearchError, SearchMonitor, SearchPattern, SearchRoot, SortOrder, find_fuzzy,
    find_names, search,
};
use hermes_text::codec::detect_format_with;
use serde_json::Value;

use crate::blocking::off_thread;
use crate::charset;
use crate::missing::{self, explain_missing};
use crate::path_text;

mod answer;
mod arguments;
mod grouped;
mod path_display;

use answer::{AnswerBuilder, Output};
use arguments::{Args, ResultOrder, SearchOutputMode, SearchTarget};
use path_display::PathDisplay;

/// Maximum results per call.
const MAX_RESULTS: u64 = 1000;
/// Maximum context lines around a match.
const MAX_CONTEXT_LINES: u64 = 50;
/// Time limit for searching an invalid pattern as literal text.
const FALLBACK_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct SearchFiles;

impl Tool for SearchFiles {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        arguments::examples(arguments::add_aliases(
            ToolSpec::new("search_files", "file")
                .emoji("🔎")
                .description(
                    "Search file contents, or find files by name. Use it instead of grep, find \
                     and ls.",
                )
                .read_only()
                .result_limit(ResultLimit::Unbounded),
        ))
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<Output>())
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        vec![Effect::path(Scope::FILE_READ, path_text::resolve(at, &args.path))]
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let path = path_text::resolve(&cx.working_dir, &args.path);
        off_thread(cx, move |cx| find(&args, &path, cx)).await
    }
}

fn find(args: &Args, path: &Path, cx: &ToolContext) -> Result<Output, ToolError> {
    FileAccess::new(cx).check_trailing_slash(&args.path, path)?;
    let root = SearchRoot::open(&FileAccess::new(cx), path)
        .map_err(|error| open_error(path, cx, error))?;
    let bounds = cx.ports.get::<OutputLimits>().map_or_else(OutputLimits::default, |b| *b);
    let limit = args.limit.clamp(1, MAX_RESULTS);
    let spelling = |path: &Path, sample: &[u8], is_all: bool| {
        detect_format_with(sample, is_all, || charset::known_encoding(cx, path))
    };
    let wish = SearchCall {
        args,
        path,
        root: &root,
        selection: selection(args, cx),
        page: PageRange { offset: args.offset, limit },
        watch: SearchMonitor::new(cx).with_format_detector(&spelling),
        answer: AnswerBuilder {
            args,
            shown: PathDisplay::new(args, path, &root),
            room: bounds.read_chars,
        },
    };
    match args.target() {
        SearchTarget::Files => wish.search_names(),
        SearchTarget::Fuzzy => wish.search_fuzzy(),
        SearchTarget::Content => wish.search_content(cx),
    }
}

/// A call, ready to run.
struct SearchCall<'a> {
    args: &'a Args,
    path: &'a Path,
    root: &'a SearchRoot,
    selection: FileSelection,
    page: PageRange,
    watch: SearchMonitor<'a>,
    answer: AnswerBuilder<'a>,
}

impl SearchCall<'_> {
    fn search_names(&self) -> Result<Output, ToolError> {
        let mut selection = self.selection.clone();
        let glob = match self.args.pattern.strip_prefix('!') {
            None => self.glob(&self.args.pattern),
            // An exclusion, as in ripgrep.
            Some(left_out) => {
                let left_out = self.glob(left_out);
                if left_out.is_empty() {
                    return Err(ToolError::invalid("'!' excludes nothing")
                        .with_hint("Name what to exclude, such as !*.min.js."));
                }
                let globs = match self.args.ignores_case() {
                    true => &mut selection.any_case_globs,
                    false => &mut selection.globs,
                };
                globs.push(format!("!{left_out}"));
                "*"
            }
        };
        // As in gitignore rules, a trailing slash matches directories.
        let (glob, wanted) = match glob.strip_suffix('/') {
            Some(dirs) => (dirs, EntryKinds::Dirs),
            None => (glob, EntryKinds::Files),
        };
        let names = NameQuery {
            glob: PathGlob::new(
                if glob.is_empty() { "*" } else { glob },
                self.args.ignores_case(),
            )?,
            kinds: wanted,
            sort: self.args.sort.map_or(SortOrder::Modified, ResultOrder::sort),
        };
        let found = find_names(self.root, &selection, &names, self.page, &self.watch)?;
        Ok(self.answer.name_matches(found))
    }

    /// Strips the search root from an absolute glob.
    fn glob<'p>(&self, pattern: &'p str) -> &'p str {
        let root = self.path.to_str().filter(|root| *root != "/");
        let below = root.and_then(|root| pattern.strip_prefix(root));
        below.filter(|below| below.starts_with('/')).unwrap_or(pattern)
    }

    fn search_fuzzy(&self) -> Result<Output, ToolError> {
        let (pattern, wanted) = (&self.args.pattern, EntryKinds::Files);
        let found =
            find_fuzzy(self.root, &self.selection, pattern, wanted, self.page, &self.watch)?;
        Ok(self.answer.fuzzy_matches(found))
    }

    fn search_content(&self, cx: &ToolContext) -> Result<Output, ToolError> {
        let args = self.args;
        let around = usize::try_from(args.context.min(MAX_CONTEXT_LINES)).unwrap_or_default();
        let content = ContentQuery {
            pattern: SearchPattern {
                text: args.pattern.clone(),
                literal: args.literal,
                case: args.case.into(),
                word: false,
                multiline: args.multiline,
            },
            output: match args.output_mode {
                SearchOutputMode::Content => MatchOutput::Lines { before: around, after: around },
                SearchOutputMode::FilesOnly => MatchOutput::Files,
                SearchOutputMode::Count => MatchOutput::Counts,
            },
            sort: args.sort.map_or(SortOrder::Path, ResultOrder::sort),
            encoding: args.encoding.clone(),
        };
        match search(self.root, &self.selection, &content, self.page, &self.watch) {
            Ok(searched) => Ok(self.answer.content(searched)),
            Err(error @ SearchError::Pattern(_)) => Err(self.offer_literal(content, error, cx)),
            Err(error) => Err(error.into()),
        }
    }

    /// The error for an invalid pattern, with the matches it would have as
    /// literal text.
    fn offer_literal(
        &self,
        content: ContentQuery,
        error: SearchError,
        cx: &ToolContext,
    ) -> ToolError {
        let error = ToolError::from(error);
        let pattern = content.pattern.as_literal();
        let content =
            ContentQuery { pattern, output: MatchOutput::Counts, sort: SortOrder::Path, ..content };
        let watch = SearchMonitor::new(cx).with_timeout(FALLBACK_TIMEOUT);
        let page = PageRange { offset: 0, limit: 1 };
        let Ok(searched) = search(self.root, &self.selection, &content, page, &watch) else {
            return error;
        };
        let (matches, files) = (searched.matches, searched.page.total);
        if matches == 0 && searched.page.early_stop.is_none() {
            return error
                .with("literal_matches", 0)
                .with_hint("Fix the pattern; taken literally, it has no matches.");
        }
        if matches == 0 {
            return error;
        }
        let about = if searched.page.early_stop.is_some() { "at least " } else { "" };
        error.with("literal_matches", matches).with_hint(format!(
            "Taken literally it has {about}{matches} matches in {files} files: set \
             literal=true, or fix the pattern."
        ))
    }
}

fn selection(args: &Args, cx: &ToolContext) -> FileSelection {
    FileSelection {
        hidden: args.hidden,
        ignore_files: args.gitignore,
        globs: args.globs(),
        any_case_globs: Vec::new(),
        types: args.types(),
        max_depth: None,
        max_filesize: None,
        protected: HiddenPathRules::from_grants(&cx.grants),
    }
}

/// Explains why the root could not be opened, with suggestions.
fn open_error(path: &Path, cx: &ToolContext, error: ToolError) -> ToolError {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    let wanted = match path.extension() {
        Some(_) => missing::MissingKind::File,
        None => missing::MissingKind::Directory,
    };
    explain_missing(wanted, path, cx)
}
