//! Results of `search_files`.

use std::collections::BTreeMap;

use hermes_files::FileKind;
use hermes_search::{
    ContentResults, EarlyStop, FileLine, FoundEntry, FuzzyHit, LineMatch, ResultPage, SkippedFiles,
};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::arguments::{Args, SearchOutputMode, SearchTarget};
use super::grouped;
use super::path_display::PathDisplay;
use crate::timestamp::to_rfc3339;

/// Matches are reported as grouped text from this number on.
const MIN_GROUPED_MATCHES: usize = 5;
/// Characters of an entry besides its path.
const ENTRY_OVERHEAD_CHARS: u64 = 60;

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Matches or files, shown or not.
    total_count: u64,
    /// If false, the total is a lower bound.
    total_is_exact: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<MatchRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<FileRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, u64>>")]
    counts: Option<MatchCounts>,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<SkippedCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MatchRow {
    path: String,
    line: u64,
    content: String,
    /// First character of the match, from 1.
    column: u64,
    /// Match positions in `content`.
    #[schemars(with = "Vec<[usize; 2]>")]
    ranges: Vec<(usize, usize)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
    /// The line is shown in part.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    clipped: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum FileRow {
    Path(String),
    Full(Box<FileDetails>),
}

#[derive(Debug, Serialize, JsonSchema)]
struct FileDetails {
    path: String,
    /// Omitted for regular files.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<u32>,
    /// Path characters that matched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    positions: Vec<usize>,
}

/// Matches per file, serialized as an ordered object.
#[derive(Debug)]
struct MatchCounts(Vec<(String, u64)>);

impl Serialize for MatchCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(path, number)| (path, number)))
    }
}

/// Files that could not be searched.
#[derive(Debug, Serialize, JsonSchema)]
struct SkippedCounts {
    #[serde(skip_serializing_if = "is_none")]
    unreadable: usize,
    #[serde(skip_serializing_if = "is_none")]
    too_large: usize,
    #[serde(skip_serializing_if = "is_none")]
    special: usize,
    #[serde(skip_serializing_if = "is_none")]
    binary: usize,
    #[serde(skip_serializing_if = "is_none")]
    protected: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    paths: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(number: &usize) -> bool {
    *number == 0
}

impl Output {
    /// Appends to the hint.
    fn add_hint(&mut self, more: &str) {
        let hint = self.hint.get_or_insert_default();
        hint.push_str(if hint.is_empty() { "" } else { " " });
        hint.push_str(more);
    }
}

/// Builds the result from what a search found.
#[derive(Debug)]
pub(super) struct AnswerBuilder<'a> {
    pub(super) args: &'a Args,
    pub(super) shown: PathDisplay,
    /// Maximum characters of the result.
    pub(super) room: u64,
}

impl AnswerBuilder<'_> {
    pub(super) fn content(&self, searched: ContentResults) -> Output {
        let ContentResults { page: found, matches, counts_matches } = searched;
        match self.args.output_mode {
            SearchOutputMode::Content => self.matches(found),
            SearchOutputMode::FilesOnly => {
                let (paths, shown, found) =
                    self.take_fitting(found, |hits| (self.shown.path(&hits.path), 4));
                let files = paths.into_iter().map(FileRow::Path).collect();
                Output { files: Some(files), ..self.base_output(&found, shown) }
            }
            SearchOutputMode::Count => {
                let (counts, shown, found) = self
                    .take_fitting(found, |hits| ((self.shown.path(&hits.path), hits.count), 12));
                let mut output = Output {
                    counts: Some(MatchCounts(counts)),
                    total_count: matches,
                    total_files: Some(found.total),
                    ..self.base_output(&found, shown)
                };
                if counts_matches && shown > 0 {
                    output.add_hint(
                        "Counts are matches, not lines: a match may span several \
                        lines.",
                    );
                }
                output
            }
        }
    }

    fn matches(&self, mut found: ResultPage<hermes_search::FileMatches>) -> Output {
        let hits = std::mem::take(&mut found.items);
        let number: usize = hits.iter().map(|hits| hits.matches.len()).sum();
        if number < MIN_GROUPED_MATCHES {
            let all: Vec<MatchRow> = hits
                .into_iter()
                .flat_map(|hits| hits.matches)
                .map(|m| self.match_row(&m))
                .collect();
            return Output { matches: Some(all), ..self.base_output(&found, number as u64) };
        }
        let has_context = |m: &LineMatch| !m.before.is_empty() || !m.after.is_empty();
        let gaps = hits.iter().flat_map(|hits| &hits.matches).any(has_context);
        let mut text = String::new();
        let mut shown = 0;
        'all: for file in &hits {
            let start = text.len();
            grouped::write_heading(&mut text, &self.shown.path(&file.path));
            let mut last = None;
            for (index, found) in file.matches.iter().enumerate() {
                let before = text.len();
                grouped::write_match(&mut text, found, &mut last, gaps);
                if text.len() as u64 > self.room && shown > 0 {
                    text.truncate(if index == 0 { start } else { before });
                    break 'all;
                }
                shown += 1;
            }
        }
        Output {
            matches_format: Some("file path, then its lines: `N: match`, `N- context`"),
            matches_text: Some(text),
            ..self.base_output(&found, shown)
        }
    }

    fn match_row(&self, found: &LineMatch) -> MatchRow {
        let path = self.shown.path(&found.path);
        let first = found.lines.first();
        let around = |lines: &[FileLine]| -> Vec<String> {
            lines.iter().map(|line| format!("{}- {}", line.number, line.text)).collect()
        };
        let text: Vec<&str> = found.lines.iter().map(|line| line.text.as_str()).collect();
        MatchRow {
            path,
            line: found.line_number(),
            content: text.join("\n"),
            column: first.map_or(0, |line| line.column),
            ranges: ranges(&found.lines),
            before: around(&found.before),
            after: around(&found.after),
            clipped: found.lines.iter().any(|line| line.is_clipped),
        }
    }

    pub(super) fn name_matches(&self, found: ResultPage<FoundEntry>) -> Output {
        let (files, shown, found) =
            self.take_fitting(found, |named| (self.file_details(named), ENTRY_OVERHEAD_CHARS));
        let files = files.into_iter().map(|full| FileRow::Full(Box::new(full))).collect();
        Output { files: Some(files), ..self.base_output(&found, shown) }
    }

    pub(super) fn fuzzy_matches(&self, found: ResultPage<FuzzyHit>) -> Output {
        let (files, shown, found) = self.take_fitting(found, |near| {
            // In a URL the character positions differ.
            let lead = self.shown.lead_chars(&near.entry.path);
            let positions = lead.map_or_else(Vec::new, |lead| {
                near.positions.iter().map(|at| *at as usize + lead).collect()
            });
            let full = FileDetails {
                score: Some(near.score),
                positions,
                ..self.file_details(&near.entry)
            };
            (full, ENTRY_OVERHEAD_CHARS + 4 * near.positions.len() as u64)
        });
        let files = files.into_iter().map(|full| FileRow::Full(Box::new(full))).collect();
        Output { files: Some(files), ..self.base_output(&found, shown) }
    }

    fn file_details(&self, named: &FoundEntry) -> FileDetails {
        let path = self.shown.path(&named.path);
        let kind = match named.kind {
            FileKind::File => None,
            FileKind::Directory => Some("dir"),
            FileKind::Link => Some("symlink"),
            _ => Some("other"),
        };
        let modified = named.modified.and_then(to_rfc3339);
        FileDetails { path, kind, size: named.size, modified, score: None, positions: Vec::new() }
    }

    /// Takes as many results as fit. `tell` returns a result and its cost
    /// besides the path.
    fn take_fitting<T, R: SizedResult>(
        &self,
        mut found: ResultPage<T>,
        tell: impl Fn(&T) -> (R, u64),
    ) -> (Vec<R>, u64, ResultPage<T>) {
        let mut room = self.room;
        let mut shown = Vec::new();
        for item in std::mem::take(&mut found.items) {
            let (one, cost) = tell(&item);
            let cost = cost + one.chars();
            if cost > room && !shown.is_empty() {
                break;
            }
            room = room.saturating_sub(cost);
            shown.push(one);
        }
        let number = shown.len() as u64;
        (shown, number, found)
    }

    /// Everything but the results. `told` is the number of results returned.
    fn base_output<T>(&self, found: &ResultPage<T>, shown: u64) -> Output {
        let next = self.args.offset.saturating_add(shown);
        let is_cut = shown > 0 && found.total > next;
        let has_more = is_cut || (found.has_more && found.early_stop.is_none() && shown > 0);
        Output {
            total_count: found.total,
            total_is_exact: found.is_exact,
            truncated: has_more || found.early_stop.is_some(),
            next_offset: has_more.then_some(next),
            limit_reason: (found.early_stop == Some(EarlyStop::TimedOut))
                .then_some("search_timeout"),
            skipped: self.skipped_counts(&found.skipped),
            hint: self.hint(found, shown, has_more),
            ..Output::default()
        }
    }

    fn skipped_counts(&self, skipped: &SkippedFiles) -> Option<SkippedCounts> {
        let SkippedFiles { unreadable, too_large, special, binary, protected, .. } = *skipped;
        if skipped == &SkippedFiles::default() {
            return None;
        }
        let paths = skipped.paths.iter().map(|path| self.shown.path(path)).collect();
        Some(SkippedCounts { unreadable, too_large, special, binary, protected, paths })
    }

    fn hint<T>(&self, found: &ResultPage<T>, shown: u64, has_more: bool) -> Option<String> {
        let args = self.args;
        if found.early_stop == Some(EarlyStop::TimedOut) {
            let looked = found.files_visited;
            return Some(format!(
                "Search timed out after {looked} files; narrow the path or file_glob."
            ));
        }
        if has_more {
            let next = args.offset.saturating_add(shown);
            let of = if found.is_exact { "" } else { "at least " };
            return Some(format!(
                "Results {} to {next} of {of}{}; offset={next} continues, a narrower pattern \
                 returns fewer.",
                args.offset + 1,
                found.total
            ));
        }
        if found.total > 0 {
            let is_behind = shown == 0;
            return is_behind.then(|| format!("There are only {} results.", found.total));
        }
        Some(self.no_match_hint(found))
    }

    fn no_match_hint<T>(&self, found: &ResultPage<T>) -> String {
        let args = self.args;
        let is_file = self.shown.is_file();
        let mut ways = Vec::new();
        if args.is_narrowed() {
            ways.push("drop file_glob, type or other filters");
        }
        if !args.hidden && !is_file {
            ways.push("hidden=true for dotfiles");
        }
        if args.gitignore && !is_file {
            ways.push("gitignore=false for files that git ignores");
        }
        if args.target() == SearchTarget::Fuzzy {
            ways.push("fewer letters");
        } else if !args.ignores_case() {
            ways.push("case=insensitive");
        }
        let [one, several] = args.searched_kind();
        let mut hint = match found.files_visited {
            0 => format!("No {several} to search."),
            1 => format!("Nothing found in 1 {one}."),
            many => format!("Nothing found among {many} {several}."),
        };
        match found.skipped.unreadable + found.skipped.too_large {
            0 => {}
            left => hint.push_str(&format!(" {left} could not be searched, see skipped.")),
        }
        if !ways.is_empty() {
            hint.push_str(&format!(" To widen the search: {}.", ways.join(", ")));
        }
        hint
    }
}

/// A result whose size counts against the limit.
trait SizedResult {
    fn chars(&self) -> u64;
}

impl SizedResult for String {
    fn chars(&self) -> u64 {
        self.len() as u64
    }
}

impl SizedResult for (String, u64) {
    fn chars(&self) -> u64 {
        self.0.len() as u64
    }
}

impl SizedResult for FileDetails {
    fn chars(&self) -> u64 {
        self.path.len() as u64
    }
}

/// Match ranges in lines joined by newlines. A match that spans several lines
/// is one range.
fn ranges(lines: &[FileLine]) -> Vec<(usize, usize)> {
    let [first, between @ .., last] = lines else {
        return lines.first().map(|line| line.ranges.clone()).unwrap_or_default();
    };
    let above =
        std::iter::once(first).chain(between).map(|line| line.text.as_str().chars().count() + 1);
    let ends = first.ranges.first().zip(last.ranges.last());
    ends.map(|((start, _), (_, end))| (*start, above.sum::<usize>() + end)).into_iter().collect()
}
