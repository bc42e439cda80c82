//! `file_compress`: creates, lists and extracts archives.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_archives::{
    ArchiveFormat, ArchiveLimits, GlobFilter, ListPage, PackRequest, PackSource, ProgressHooks,
    UnpackReport, UnpackRequest,
};
use hermes_core::{
    Effect, ErrorKind, FileWritten, JsonSchema, PathState, Scope, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir,
};
use hermes_files::{FileAccess, JournalDir};
use serde::Deserialize;

use crate::change;
use crate::missing::{MissingKind, explain_missing, explain_missing_near};
use crate::path_text;

mod output;

use output::Output;

/// Timeout of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(1800);
/// Maximum number of entries in a result.
const MAX_ENTRIES: u64 = 1000;

#[derive(Debug, Default)]
pub(crate) struct FileCompress;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = crate::schema_trim::omit_empty_defaults)]
pub(crate) struct Args {
    /// What to do.
    action: CompressAction,
    /// The archive.
    archive: String,
    /// To pack.
    #[serde(default)]
    paths: Vec<String>,
    /// Extract into; default: named after the archive.
    target: Option<String>,
    /// Create; default: by name.
    format: Option<ArchiveFormatArg>,
    /// Globs to take: `src/**`.
    #[serde(default)]
    include: Vec<String>,
    /// Globs to skip.
    #[serde(default)]
    exclude: Vec<String>,
    /// Skip what git ignores.
    #[serde(default)]
    gitignore: bool,
    /// Create: 0-9, zst 1-19.
    #[schemars(range(max = 19))]
    level: Option<u32>,
    /// If a file exists.
    #[serde(default)]
    existing: OnExisting,
    /// Extract: path levels to drop.
    #[serde(default)]
    strip_components: u32,
    /// Unpacked bytes; default 2 GB.
    max_bytes: Option<u64>,
    /// Unpacked/packed size; default 100.
    max_ratio: Option<u64>,
    /// Entries to skip.
    #[serde(default)]
    offset: u64,
    /// At most 1000.
    #[serde(default = "usual_entries")]
    #[schemars(range(min = 1))]
    limit: u64,
}

fn usual_entries() -> u64 {
    100
}

// What to do. `compress` and `decompress` are synonyms that models use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompressAction {
    Create,
    List,
    Extract,
    Compress,
    Decompress,
}

impl CompressAction {
    fn canonical(self) -> Self {
        match self {
            Self::Create | Self::Compress => Self::Create,
            Self::Extract | Self::Decompress => Self::Extract,
            Self::List => Self::List,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum ArchiveFormatArg {
    #[serde(rename = "zip")]
    Zip,
    #[serde(rename = "tar")]
    Tar,
    #[serde(rename = "tar.gz")]
    TarGz,
    #[serde(rename = "tar.zst")]
    TarZst,
    #[serde(rename = "gz")]
    Gz,
    #[serde(rename = "zst")]
    Zst,
    #[serde(rename = "7z")]
    SevenZip,
}

impl From<ArchiveFormatArg> for ArchiveFormat {
    fn from(name: ArchiveFormatArg) -> Self {
        match name {
            ArchiveFormatArg::Zip => Self::Zip,
            ArchiveFormatArg::Tar => Self::Tar,
            ArchiveFormatArg::TarGz => Self::TarGz,
            ArchiveFormatArg::TarZst => Self::TarZst,
            ArchiveFormatArg::Gz => Self::Gz,
            ArchiveFormatArg::Zst => Self::Zst,
            ArchiveFormatArg::SevenZip => Self::SevenZip,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnExisting {
    #[default]
    Refuse,
    Overwrite,
    Skip,
    Rename,
}

impl From<OnExisting> for hermes_archives::UnpackConflictPolicy {
    fn from(existing: OnExisting) -> Self {
        match existing {
            OnExisting::Refuse => Self::Refuse,
            OnExisting::Overwrite => Self::Overwrite,
            OnExisting::Skip => Self::Skip,
            OnExisting::Rename => Self::Rename,
        }
    }
}

impl Tool for FileCompress {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("file_compress", "file")
            .emoji("📦")
            .description(
                "Create, list or extract archives. Extraction is atomic and stays in its target.",
            )
            .preset_alias("file_decompress", r#"{"action":"extract"}"#)
            .preset_alias("file_extract", r#"{"action":"extract"}"#)
            .parameter_alias("operation", "action")
            .parameter_alias("mode", "action")
            .parameter_alias("archive_path", "archive")
            .parameter_alias("archive_file", "archive")
            .parameter_alias("output", "archive")
            .parameter_alias("output_path", "archive")
            .parameter_alias("file", "archive")
            .parameter_alias("files", "paths")
            .parameter_alias("sources", "paths")
            .parameter_alias("source", "paths")
            .parameter_alias("input", "paths")
            .parameter_alias("inputs", "paths")
            .parameter_alias("destination", "target")
            .parameter_alias("dest", "target")
            .parameter_alias("output_dir", "target")
            .parameter_alias("extract_to", "target")
            .parameter_alias("directory", "target")
            .parameter_alias("compression_level", "level")
            .parameter_alias("respect_gitignore", "gitignore")
            .parameter_alias("on_conflict", "existing")
            .parameter_alias("if_exists", "existing")
            .parameter_alias("strip", "strip_components")
            .destructive()
            .reports_changes()
            .timeout(CALL_TIMEOUT)
            .keyword("zip")
            .keyword("unzip")
            .keyword("tar")
            .keyword("gzip")
            .keyword("7z")
            .keyword("zstd")
            .keyword("archive")
            .keyword("decompress")
            .keyword("unpack")
            .keyword("bundle")
            .example(
                ToolExample::new(
                    "Pack a directory",
                    r#"{"action":"create","archive":"src.tar.gz","paths":["src"]}"#,
                )
                .file("src/main.rs", "fn main() {}\n")
                .expects(r#"{"format":"tar.gz","files":1,"folders":1,"bytes":13,"paths":["src","src/main.rs"]}"#),
            )
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let archive = path_text::resolve(at, &args.archive);
        match args.action.canonical() {
            CompressAction::Create => {
                let read =
                    |path: &String| Effect::path(Scope::FILE_READ, path_text::resolve(at, path));
                let mut effects: Vec<Effect> = args.paths.iter().map(read).collect();
                effects.push(Effect::path(Scope::FILE_WRITE, archive));
                effects
            }
            CompressAction::Extract => {
                let target = target_dir(args, &archive, at);
                vec![
                    Effect::path(Scope::FILE_READ, archive),
                    Effect::path(Scope::FILE_WRITE, target),
                ]
            }
            _ => vec![Effect::path(Scope::FILE_READ, archive)],
        }
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let inner = cx.clone();
        // Not raced against cancellation: a cancelled call cleans up before it
        // returns.
        match tokio::task::spawn_blocking(move || perform(&args, &inner)).await {
            Ok(answer) => answer,
            Err(failure) => match failure.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ToolError::cancelled()),
            },
        }
    }
}

/// Default limit for the files of a new archive: packing more takes minutes.
const MAX_PACKED_BYTES: u64 = 16 << 30;

/// Returns the directory an archive is extracted into.
fn target_dir(args: &Args, archive: &Path, at: &WorkingDir) -> PathBuf {
    if let Some(target) = &args.target {
        return path_text::resolve(at, target);
    }
    // A single file needs no directory.
    if ArchiveFormat::from_name(archive).is_some_and(ArchiveFormat::is_single) {
        return archive.parent().unwrap_or(archive).to_path_buf();
    }
    let stem = archive.file_stem().map(Path::new);
    let inner = stem.filter(|stem| stem.extension().is_some_and(|ending| ending == "tar"));
    let name = inner.and_then(Path::file_stem).or(stem.map(Path::as_os_str));
    let name = name.unwrap_or_default();
    let place = at.cwd().join(name);
    // An archive without an extension would be its own target.
    if place == archive { at.cwd().join(format!("{}.d", name.to_string_lossy())) } else { place }
}

fn perform(args: &Args, cx: &ToolContext) -> Result<Output, ToolError> {
    let archive = path_text::resolve(&cx.working_dir, &args.archive);
    check_trailing_slashes(args, &archive, cx)?;
    let choice = GlobFilter::new(&args.include, &args.exclude)?;
    let verb = match args.action.canonical() {
        CompressAction::Create => "Packed",
        _ => "Read",
    };
    let stopped = || cx.cancel.is_cancelled();
    let progress = |done: u64, total: u64| {
        let fraction = if total == 0 { None } else { Some(done as f64 / total as f64) };
        let of = |bytes: u64| bytes as f64 / (1 << 20) as f64;
        cx.report_progress(fraction, format!("{verb} {:.0} of {:.0} MB", of(done), of(total)));
    };
    let oversight = ProgressHooks { stopped: &stopped, progress: &progress };
    let shown = usize::try_from(args.limit.clamp(1, MAX_ENTRIES)).unwrap_or(usize::MAX);
    match args.action.canonical() {
        CompressAction::Create => {
            create(args, &archive, &choice, cx, oversight).map(|(format, created)| {
                let place = |name: &Path| packed_source(args, name, &cx.working_dir);
                Output::created(&archive, format, created, shown, place)
            })
        }
        CompressAction::List => {
            let page = ListPage { offset: args.offset, limit: shown as u64 };
            let files = FileAccess::new(cx);
            let listing =
                hermes_archives::list(&files, &archive, &choice, page, limits(args), oversight)
                    .map_err(|error| missing_archive(error, &archive, cx))?;
            let target = target_dir(args, &archive, &cx.working_dir);
            Ok(Output::listed(&archive, &target, listing, args.offset))
        }
        _ => {
            let target = target_dir(args, &archive, &cx.working_dir);
            let journals = cx.ports.get::<JournalDir>();
            if let Some(journals) = &journals {
                // Roll back an extraction that was killed.
                journals.recover();
            }
            let unpacking = UnpackRequest {
                archive: &archive,
                target: &target,
                choice: &choice,
                strip: args.strip_components as usize,
                existing: args.existing.into(),
                limits: limits(args),
                journals: journals.as_deref(),
            };
            let extracted = unpack(&unpacking, oversight, cx)
                .map_err(|error| missing_archive(error, &archive, cx))
                .map_err(|error| with_target_hint(error, args, &target))?;
            Ok(Output::extracted(&archive, &target, extracted, shown))
        }
    }
}

/// Adds a hint about the default target if the caller set none.
fn with_target_hint(error: ToolError, args: &Args, target: &Path) -> ToolError {
    if error.kind() != ErrorKind::Conflict || args.target.is_some() {
        return error;
    }
    let target = path_text::display_path(target);
    error.with_hint(format!(
        "Without target, files go to {target}, named after the archive. Set another target, or \
         set existing to overwrite, skip or rename."
    ))
}

/// Returns the path that was packed under a name.
fn packed_source(args: &Args, name: &Path, at: &WorkingDir) -> PathBuf {
    let sources = args.paths.iter().map(|path| pack_source(path, at));
    let mut places = sources.filter_map(|source| {
        let below = name.strip_prefix(&source.name).ok()?;
        // Joining an empty path would append a slash to a file.
        let is_whole = below.as_os_str().is_empty();
        Some(if is_whole { source.path } else { source.path.join(below) })
    });
    let first = places.next();
    let there = first.iter().cloned().chain(places).find(|place| place.symlink_metadata().is_ok());
    there.or(first).unwrap_or_else(|| name.to_path_buf())
}

/// Checks that paths with a trailing slash are directories.
fn check_trailing_slashes(args: &Args, archive: &Path, cx: &ToolContext) -> Result<(), ToolError> {
    let files = FileAccess::new(cx);
    if args.action.canonical() != CompressAction::Create {
        return files.check_trailing_slash(&args.archive, archive);
    }
    if args.archive.ends_with('/') || args.archive.ends_with("/.") {
        let what = format!("'{}' ends with a slash, so it names a directory", args.archive);
        return Err(ToolError::invalid(what).with_hint("Remove the slash, or name a file in it."));
    }
    let mut paths = args.paths.iter();
    paths.try_for_each(|path| {
        files.check_trailing_slash(path, &path_text::resolve(&cx.working_dir, path))
    })
}

/// Extracts an archive and reports replaced and created files to the change
/// reporter.
fn unpack(
    unpacking: &UnpackRequest<'_>,
    oversight: ProgressHooks<'_>,
    cx: &ToolContext,
) -> Result<UnpackReport, ToolError> {
    let keeper = change::change_reporter(cx);
    let tell = |places: &[PathBuf]| {
        if let Some(keeper) = &keeper {
            keeper.before_change(places);
            keeper.prune();
        }
    };
    let extracted = hermes_archives::extract_announcing(&cx.grants, unpacking, oversight, &tell)?;
    if let Some(keeper) = &keeper {
        let new: Vec<PathBuf> =
            extracted.renamed.iter().map(|(_, new)| unpacking.target.join(new)).collect();
        let made = new.iter().map(|path| FileWritten { path, state: PathState::Unspecified });
        keeper.after_change(&made.collect::<Vec<_>>());
    }
    Ok(extracted)
}

fn limits(args: &Args) -> ArchiveLimits {
    let usual = ArchiveLimits::default();
    ArchiveLimits {
        bytes: args.max_bytes.unwrap_or(usual.bytes),
        ratio: args.max_ratio.unwrap_or(usual.ratio),
        ..usual
    }
}

fn create(
    args: &Args,
    archive: &Path,
    choice: &GlobFilter,
    cx: &ToolContext,
    oversight: ProgressHooks<'_>,
) -> Result<(ArchiveFormat, hermes_archives::PackReport), ToolError> {
    if args.paths.is_empty() {
        return Err(ToolError::invalid("paths is empty")
            .with_hint("Set paths to the files and directories to pack."));
    }
    let Some(format) =
        args.format.map(ArchiveFormat::from).or_else(|| ArchiveFormat::from_name(archive))
    else {
        let known: Vec<&str> = ArchiveFormat::ALL.iter().map(|format| format.name()).collect();
        return Err(ToolError::invalid("Cannot infer the format from the archive's name")
            .with_hint(format!("Set format to one of {}.", known.join(", "))));
    };
    let existing = match args.existing {
        OnExisting::Refuse => hermes_files::ExistingFile::Refuse,
        OnExisting::Overwrite => hermes_files::ExistingFile::Replace,
        OnExisting::Skip | OnExisting::Rename => {
            return Err(ToolError::invalid(
                "An existing archive can only be refused or overwritten",
            )
            .with_hint("existing=skip and existing=rename are only for extract."));
        }
    };
    let sources: Vec<PackSource> =
        args.paths.iter().map(|path| pack_source(path, &cx.working_dir)).collect();
    let packing = PackRequest {
        sources: &sources,
        archive,
        format,
        level: args.level,
        choice,
        gitignore: args.gitignore,
        existing,
        max_bytes: args.max_bytes.unwrap_or(MAX_PACKED_BYTES),
    };
    let keeper = change::change_reporter(cx);
    if let Some(keeper) = &keeper {
        keeper.before_change(&[archive.to_path_buf()]);
        keeper.prune();
    }
    let created = hermes_archives::create(&cx.grants, &packing, oversight)
        .map_err(|error| create_error(error, args, archive, &sources, cx))?;
    if let Some(keeper) = &keeper {
        keeper.after_change(&[FileWritten { path: archive, state: PathState::Unspecified }]);
    }
    Ok((format, created))
}

/// Packed entries keep their path below the working directory; others are
/// stored by file name.
fn pack_source(path: &str, at: &WorkingDir) -> PackSource {
    let path = path_text::resolve(at, path);
    let name = match path.strip_prefix(at.cwd()) {
        Ok(relative) => relative.to_path_buf(),
        Err(_) => path.file_name().map(PathBuf::from).unwrap_or_default(),
    };
    PackSource { path, name }
}

/// Explains which source or directory is missing when an archive cannot be
/// created.
fn create_error(
    error: ToolError,
    args: &Args,
    archive: &Path,
    sources: &[PackSource],
    cx: &ToolContext,
) -> ToolError {
    let is_there = |path: &Path| FileAccess::new(cx).exists(path).is_ok_and(|found| found);
    match error.kind() {
        ErrorKind::NotFound => {}
        ErrorKind::Conflict if args.existing == OnExisting::Refuse && is_there(archive) => {
            let hint = "Choose another name for the archive, or set existing=overwrite.";
            return error.with_hint(hint);
        }
        _ => return error,
    }
    let is_gone =
        |source: &&PackSource| FileAccess::new(cx).exists(&source.path).is_ok_and(|found| !found);
    if let Some(source) = sources.iter().find(is_gone) {
        return explain_missing(MissingKind::File, &source.path, cx);
    }
    // The call may not read the archive's directory, but it may read the
    // sources.
    let Some(dir) = archive.parent() else { return error };
    let shared = |source: &&PackSource| {
        source.path.iter().zip(dir).take_while(|(one, other)| one == other).count()
    };
    match sources.iter().max_by_key(shared) {
        Some(source) => explain_missing_near(MissingKind::Directory, dir, &source.path, cx),
        None => error,
    }
}

/// Explains why an archive does not exist.
fn missing_archive(error: ToolError, archive: &Path, cx: &ToolContext) -> ToolError {
    let is_gone = || FileAccess::new(cx).exists(archive).is_ok_and(|found| !found);
    if error.kind() == ErrorKind::NotFound && is_gone() {
        return explain_missing(MissingKind::File, archive, cx);
    }
    error
}
