//! Reads the completed prompts of a batch from its output lines.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use crate::BatchError;
use crate::batch_dir::BatchDir;
use crate::prompt::PromptFile;
use crate::row::{RowSummary, ToolStats};

/// Location of a prompt's output line.
#[derive(Debug)]
struct RowLocation {
    file: usize,
    offset: u64,
    length: u64,
    mark: RowSummary,
}

/// The prompts completed so far.
#[derive(Debug, Default)]
pub(crate) struct CompletedPrompts {
    files: Vec<PathBuf>,
    /// Keyed by prompt index.
    locations: BTreeMap<usize, RowLocation>,
    /// Number of lines whose prompt is no longer in the file, or has changed.
    pub(crate) unmatched: usize,
}

/// A conversation excluded from the combined file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ExcludedConversation {
    /// Index of its prompt.
    pub prompt_index: usize,
    /// Why.
    pub why: String,
}

/// Totals over all lines.
#[derive(Debug, Default, serde::Serialize)]
pub(crate) struct BatchTotals {
    pub(crate) conversations: usize,
    pub(crate) completed: usize,
    pub(crate) partial: usize,
    pub(crate) with_reasoning: usize,
    pub(crate) left_out: Vec<ExcludedConversation>,
    pub(crate) api_calls: u64,
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) toolsets: BTreeMap<String, u64>,
    pub(crate) tool_stats: BTreeMap<String, ToolStats>,
}

impl CompletedPrompts {
    /// Reads the output lines of a batch and truncates incomplete ones.
    pub(crate) fn read(dir: &BatchDir, prompts: &PromptFile) -> Result<Self, BatchError> {
        let mut found = Vec::new();
        let mut done = Self { files: dir.batch_files()?, ..Self::default() };
        for (number, path) in done.files.iter().enumerate() {
            dir.truncate_torn_line(path)?;
            let wrong = |e| BatchError::io("read", path, e);
            let mut from = BufReader::new(File::open(path).map_err(wrong)?);
            let (mut at, mut line) = (0, Vec::new());
            loop {
                line.clear();
                let length = from.read_until(b'\n', &mut line).map_err(wrong)? as u64;
                if length == 0 {
                    break;
                }
                let place = serde_json::from_slice::<RowSummary>(&line)
                    .ok()
                    .map(|mark| RowLocation { file: number, offset: at, length, mark });
                at += length;
                match place {
                    Some(place) => found.push(place),
                    None => done.unmatched += 1,
                }
            }
        }
        done.match_prompts(found, prompts);
        Ok(done)
    }

    /// Matches each line to the prompt with the same text. The index of a
    /// prompt changes when lines are added or removed before it.
    fn match_prompts(&mut self, found: Vec<RowLocation>, prompts: &PromptFile) {
        let mut open: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for prompt in &prompts.prompts {
            open.entry(&prompt.hash).or_default().push_back(prompt.index);
        }
        // Match unmoved lines first, so lines with the same text do not swap
        // places.
        let mut moved = Vec::new();
        for place in found {
            let index = place.mark.prompt_index;
            let same = open.get_mut(place.mark.metadata.prompt_hash.as_str());
            match same
                .and_then(|same| same.iter().position(|open| *open == index).map(|at| (same, at)))
            {
                Some((same, at)) => {
                    same.remove(at);
                    self.locations.insert(index, place);
                }
                None => moved.push(place),
            }
        }
        moved.sort_by_key(|place| place.mark.prompt_index);
        for place in moved {
            match open.get_mut(place.mark.metadata.prompt_hash.as_str()).map(VecDeque::pop_front) {
                Some(Some(index)) => drop(self.locations.insert(index, place)),
                // A duplicate of a line already matched.
                Some(None) => {}
                None => self.unmatched += 1,
            }
        }
    }

    /// Whether a prompt is completed.
    pub(crate) fn is_done(&self, index: usize) -> bool {
        self.locations.contains_key(&index)
    }

    pub(crate) fn count(&self) -> usize {
        self.locations.len()
    }

    /// Writes all lines into one file, in prompt order, and returns the totals.
    /// Excludes conversations with unknown tools and, if `needs_reasoning` is
    /// set, those without reasoning.
    pub(crate) fn combine(
        &self,
        dir: &BatchDir,
        known: &[String],
        needs_reasoning: bool,
    ) -> Result<BatchTotals, BatchError> {
        let path = dir.path().join("trajectories.jsonl");
        let temporary = dir.path().join(".trajectories.tmp");
        let wrong = |e| BatchError::io("write", &path, e);
        let mut sums = BatchTotals::default();
        let mut to = BufWriter::new(File::create(&temporary).map_err(wrong)?);
        let mut open: BTreeMap<usize, File> = BTreeMap::new();
        for (index, place) in &self.locations {
            let is_known = |name: &String| known.is_empty() || known.contains(name);
            let mut used = place.mark.tool_stats.iter().filter(|(_, stats)| stats.count > 0);
            let why = match used.find(|(name, _)| !is_known(name)) {
                Some((name, _)) => Some(format!("it calls '{name}', which is not a known tool")),
                None if needs_reasoning && !place.mark.metadata.has_reasoning => {
                    Some("it has no reasoning".to_owned())
                }
                None => None,
            };
            if let Some(why) = why {
                let prompt_index = *index;
                sums.left_out.push(ExcludedConversation { prompt_index, why });
                continue;
            }
            sums.add(&place.mark);
            let from = match open.entry(place.file) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    let Some(path) = self.files.get(place.file) else { continue };
                    entry.insert(File::open(path).map_err(|e| BatchError::io("read", path, e))?)
                }
            };
            from.seek(SeekFrom::Start(place.offset)).map_err(wrong)?;
            if *index == place.mark.prompt_index {
                std::io::copy(&mut from.take(place.length), &mut to).map_err(wrong)?;
                continue;
            }
            let mut line = Vec::new();
            from.take(place.length).read_to_end(&mut line).map_err(wrong)?;
            to.write_all(&renumber(line, place.mark.prompt_index, *index)).map_err(wrong)?;
        }
        to.flush().and_then(|()| to.get_ref().sync_all()).map_err(wrong)?;
        std::fs::rename(&temporary, &path).map_err(wrong)?;
        Ok(sums)
    }
}

/// Replaces the prompt index at the start of a line.
fn renumber(line: Vec<u8>, before: usize, now: usize) -> Vec<u8> {
    let start = |index: usize| format!("{{\"prompt_index\":{index},").into_bytes();
    match line.strip_prefix(start(before).as_slice()) {
        Some(rest) => [&start(now), rest].concat(),
        None => line,
    }
}

impl BatchTotals {
    fn add(&mut self, mark: &RowSummary) {
        self.conversations += 1;
        self.completed += usize::from(mark.completed);
        self.partial += usize::from(!mark.completed);
        self.with_reasoning += usize::from(mark.metadata.has_reasoning);
        self.api_calls += mark.api_calls;
        self.input_tokens += mark.metadata.input_tokens;
        self.output_tokens += mark.metadata.output_tokens;
        for name in &mark.toolsets_used {
            *self.toolsets.entry(name.clone()).or_default() += 1;
        }
        for (name, stats) in &mark.tool_stats {
            let sum = self.tool_stats.entry(name.clone()).or_default();
            sum.count += stats.count;
            sum.success += stats.success;
            sum.failure += stats.failure;
        }
    }
}
