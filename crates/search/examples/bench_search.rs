//! Prints how long searches take: `bench_search ROOT RUNS [MODE PATTERN]…`
//! with the modes count, lines (a page of 50), alllines, files (with a match),
//! names (a page, newest first), allnames and fuzzy.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use hermes_core::ToolContext;
use hermes_files::FileAccess;
use hermes_search::{
    ContentQuery, EntryKinds, FileSelection, MatchOutput, NameQuery, PageRange, PathGlob,
    SearchMonitor, SearchPattern, SearchRoot, SortOrder, find_fuzzy, find_names, search,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(root), Some(runs)) = (arguments.next(), arguments.next()) else {
        return Err("usage: bench_search ROOT RUNS [MODE PATTERN]…".into());
    };
    let root = PathBuf::from(root).canonicalize()?;
    let runs: usize = runs.parse()?;
    while let (Some(mode), Some(pattern)) = (arguments.next(), arguments.next()) {
        let mut times = Vec::new();
        let mut total = 0;
        for _ in 0..runs.max(1) {
            let begun = Instant::now();
            total = one(&root, &mode, &pattern)?;
            times.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        let (least, middle) = (times.first(), times.get(times.len() / 2));
        println!(
            "{mode:8} {pattern:24} total {total:8}  min {:8.2} ms  median {:8.2} ms",
            least.copied().unwrap_or_default(),
            middle.copied().unwrap_or_default(),
        );
    }
    Ok(())
}

fn one(path: &std::path::Path, mode: &str, pattern: &str) -> Result<u64, Box<dyn Error>> {
    let cx = ToolContext::bare(path);
    let root = SearchRoot::open(&FileAccess::new(&cx), path)
        .map_err(|error| error.message().to_owned())?;
    let watch = SearchMonitor::new(&cx);
    let selection = FileSelection::default();
    let page = PageRange { offset: 0, limit: 50 };
    let all = PageRange { offset: 0, limit: u64::MAX - 1 };
    let content = |report| ContentQuery {
        pattern: SearchPattern::regex(pattern),
        output: report,
        sort: SortOrder::Path,
        encoding: None,
    };
    let lines = MatchOutput::Lines { before: 0, after: 0 };
    let names = |sort| -> Result<NameQuery, Box<dyn Error>> {
        Ok(NameQuery { glob: PathGlob::new(pattern, false)?, kinds: EntryKinds::Files, sort })
    };
    Ok(match mode {
        "count" => search(&root, &selection, &content(MatchOutput::Counts), page, &watch)?.matches,
        "lines" => search(&root, &selection, &content(lines), page, &watch)?.page.total,
        "alllines" => search(&root, &selection, &content(lines), all, &watch)?.page.total,
        "files" => search(&root, &selection, &content(MatchOutput::Files), all, &watch)?.page.total,
        "names" => find_names(&root, &selection, &names(SortOrder::Modified)?, page, &watch)?.total,
        "allnames" => find_names(&root, &selection, &names(SortOrder::Path)?, all, &watch)?.total,
        "fuzzy" => find_fuzzy(&root, &selection, pattern, EntryKinds::Files, page, &watch)?.total,
        other => return Err(format!("no mode {other}").into()),
    })
}
