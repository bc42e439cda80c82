//! A working folder, a store, and somebody who changes files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use hermes_checkpoints::{
    CheckpointLimits, CheckpointStore, FileCheckpointer, RestoreReport, RestoreTarget,
};
use hermes_core::{CancellationToken, CheckpointHooks, PendingChange, ToolError, WorkingDir};
use tempfile::TempDir;

pub(crate) struct Bench {
    root: PathBuf,
    /// Goes with the test that made it.
    _folder: Option<TempDir>,
    pub(crate) keeper: FileCheckpointer,
    pub(crate) store: Arc<CheckpointStore>,
    next: AtomicUsize,
}

/// What one test says of a call.
#[derive(Default)]
pub(crate) struct Call<'a> {
    pub(crate) places: &'a [&'a str],
    pub(crate) filled: &'a [&'a str],
    pub(crate) open_ended: bool,
    pub(crate) turn: Option<&'a str>,
    pub(crate) spared: Vec<PathBuf>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(CheckpointLimits::default())
    }

    pub(crate) fn with(limits: CheckpointLimits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        let bench = Self::at(dir.path().to_path_buf(), limits);
        Self { _folder: Some(dir), ..bench }
    }

    /// One that another process has made.
    pub(crate) fn at(root: PathBuf, limits: CheckpointLimits) -> Self {
        let (keeper, store) = open(&root, limits);
        let first = std::process::id() as usize * 1_000_000;
        Self { root, _folder: None, keeper, store, next: AtomicUsize::new(first) }
    }

    /// The same folders, as another process would see them.
    pub(crate) fn reopen(&mut self, limits: CheckpointLimits) {
        (self.keeper, self.store) = open(&self.root, limits);
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work").canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.work().join(Path::new(&name))
    }

    /// Makes the working folder a repository, in which git ignores things.
    pub(crate) fn ignoring(&self, rules: &str) {
        fs::create_dir_all(self.path(".git")).unwrap();
        self.write(".gitignore", rules);
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.path(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A turn with one call that writes or deletes these places.
    pub(crate) fn turn(&self, places: &[&str], change: impl FnOnce()) -> Option<String> {
        self.call(Call { places, ..Call::default() }, change).unwrap()
    }

    /// [`Self::turn`] with a name.
    pub(crate) fn named_turn(&self, turn: &str, places: &[&str], change: impl FnOnce()) {
        self.call(Call { places, turn: Some(turn), ..Call::default() }, change).unwrap();
    }

    /// A turn with a command that may change anything.
    pub(crate) fn command(&self, change: impl FnOnce()) -> Option<String> {
        self.call(Call { open_ended: true, ..Call::default() }, change).unwrap()
    }

    /// A turn with a command that is killed after this change.
    pub(crate) fn killed(&self, change: impl FnOnce()) {
        self.killed_call(Call { open_ended: true, ..Call::default() }, change);
    }

    /// A call that is killed after this change.
    pub(crate) fn killed_call(&self, call: Call<'_>, change: impl FnOnce()) {
        self.prepare(call, |impending| self.keeper.before_call(impending)).unwrap();
        change();
    }

    pub(crate) fn call(
        &self,
        call: Call<'_>,
        change: impl FnOnce(),
    ) -> Result<Option<String>, ToolError> {
        self.prepare(call, |impending| {
            let id = self.keeper.before_call(impending)?;
            change();
            if id.is_some() {
                self.keeper.after_call(impending)?;
            }
            Ok(id)
        })
    }

    /// A call that announces its changes.
    pub(crate) fn call_telling(
        &self,
        call: Call<'_>,
        change: impl FnOnce(&PendingChange<'_>),
    ) -> Result<(), ToolError> {
        self.prepare(call, |impending| {
            change(impending);
            self.keeper.after_call(impending)
        })
    }

    fn prepare<T>(&self, call: Call<'_>, make: impl FnOnce(&PendingChange<'_>) -> T) -> T {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = call.turn.map_or_else(|| format!("turn-{number}"), str::to_owned);
        let call_id = format!("call-{number}");
        let places: Vec<PathBuf> = call.places.iter().map(|name| self.path(name)).collect();
        let filled: Vec<PathBuf> = call.filled.iter().map(|name| self.path(name)).collect();
        let workplace = WorkingDir::new(self.work(), None);
        let target = OnceLock::new();
        let cancel = CancellationToken::new();
        let impending = PendingChange {
            session: "session",
            turn: &turn,
            task: "task",
            call_id: &call_id,
            tool: "tool",
            paths: &places,
            output_dirs: &filled,
            open_ended: call.open_ended,
            unwritable_paths: &call.spared,
            working_dir: &workplace,
            workspace: &target,
            deadline: None,
            cancel: &cancel,
        };
        make(&impending)
    }

    pub(crate) fn undo(&self, turns: usize) -> Result<RestoreReport, ToolError> {
        let plan = self.store.plan(RestoreTarget::Undo { workspace: &self.work(), turns })?;
        self.store.apply_plan(&plan, false)
    }

    pub(crate) fn force_undo(&self, turns: usize) -> Result<RestoreReport, ToolError> {
        let plan = self.store.plan(RestoreTarget::Undo { workspace: &self.work(), turns })?;
        self.store.apply_plan(&plan, true)
    }

    pub(crate) fn redo(&self) -> Result<RestoreReport, ToolError> {
        let plan = self.store.plan(RestoreTarget::Redo { workspace: &self.work() })?;
        self.store.apply_plan(&plan, false)
    }

    pub(crate) fn restore(&self, id: &str, paths: &[PathBuf]) -> Result<RestoreReport, ToolError> {
        let plan = self.store.plan(RestoreTarget::Restore { checkpoint: id, paths })?;
        self.store.apply_plan(&plan, false)
    }

    /// Everything below the working folder.
    pub(crate) fn picture(&self) -> BTreeMap<PathBuf, String> {
        let mut picture = BTreeMap::new();
        let mut open = vec![self.work()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).unwrap().flatten() {
                let found = fs::symlink_metadata(entry.path()).unwrap();
                let mode = found.permissions().mode() & 0o7777;
                let what = if found.is_dir() {
                    open.push(entry.path());
                    format!("folder {mode:o}")
                } else if found.is_symlink() {
                    format!("link {}", fs::read_link(entry.path()).unwrap().display())
                } else {
                    let content = fs::read(entry.path()).unwrap();
                    format!("file {mode:o} {}", String::from_utf8_lossy(&content))
                };
                picture.insert(entry.path().strip_prefix(self.work()).unwrap().into(), what);
            }
        }
        picture
    }

    pub(crate) fn link(&self, name: &str, target: &str) {
        symlink(target, self.path(name)).unwrap();
    }

    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn open(root: &Path, limits: CheckpointLimits) -> (FileCheckpointer, Arc<CheckpointStore>) {
    let home = root.join("home");
    let store = Arc::new(CheckpointStore::new(home.join("checkpoints"), limits));
    (FileCheckpointer::new(Arc::clone(&store), vec![home]), store)
}
