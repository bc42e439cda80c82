//! Before and after stage 8: checkpoints the files that a call may change, for
//! undo.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hermes_core::{
    CancellationToken, ChangeReporter, CheckpointHooks, Confinement, Effect, ErrorKind,
    FileWritten, PendingChange, Ports, ProgressUpdate, Resource, Scope, SideEffects, ToolError,
    WorkingDir,
};

use super::{Authorization, BatchContext, ResolvedCall};
use crate::observer::CallEvent;

/// Delay after which a running checkpoint is reported as progress.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

/// The checkpoint of one call, taken before it runs or when it reports a
/// change.
pub(super) struct CallCheckpoint {
    checkpoints: Arc<dyn CheckpointHooks>,
    change: Arc<OwnedPendingChange>,
    announces: bool,
    /// Whether the resulting file contents have not been recorded yet.
    is_unsettled: AtomicBool,
}

impl CallCheckpoint {
    /// The ports of the call: the shared ports, plus a [`ChangeReporter`] if
    /// the tool reports its changes.
    pub(super) fn ports(self: &Arc<Self>, of_all: &Arc<Ports>) -> Arc<Ports> {
        if !self.announces {
            return Arc::clone(of_all);
        }
        Arc::new(Ports::clone(of_all).with::<dyn ChangeReporter>(Arc::clone(self) as _))
    }
}

/// Errors are ignored: the checkpoint hooks report them to the user.
impl ChangeReporter for CallCheckpoint {
    fn before_change(&self, paths: &[PathBuf]) {
        self.is_unsettled.store(true, Ordering::Release);
        let _ = self.checkpoints.before_change(&self.change.as_pending(), paths);
    }

    fn prune(&self) {
        self.checkpoints.prune(&self.change.as_pending());
    }

    fn after_change(&self, made: &[FileWritten<'_>]) {
        let _ = self.checkpoints.after_change(&self.change.as_pending(), made);
        self.is_unsettled.store(false, Ordering::Release);
    }
}

/// An owned [`PendingChange`], to be moved to another thread.
struct OwnedPendingChange {
    session: String,
    turn: Arc<str>,
    task: Arc<str>,
    call_id: String,
    tool: String,
    paths: Vec<PathBuf>,
    output_dirs: Vec<PathBuf>,
    open_ended: bool,
    unwritable_paths: Vec<PathBuf>,
    working_dir: Arc<WorkingDir>,
    workspace: OnceLock<PathBuf>,
    deadline: Option<Instant>,
    cancel: CancellationToken,
}

impl OwnedPendingChange {
    fn as_pending(&self) -> PendingChange<'_> {
        PendingChange {
            session: &self.session,
            turn: &self.turn,
            task: &self.task,
            call_id: &self.call_id,
            tool: &self.tool,
            paths: &self.paths,
            output_dirs: &self.output_dirs,
            open_ended: self.open_ended,
            unwritable_paths: &self.unwritable_paths,
            working_dir: &self.working_dir,
            workspace: &self.workspace,
            deadline: self.deadline,
            cancel: &self.cancel,
        }
    }
}

impl BatchContext {
    /// Checkpoints what the call may change; returns `None` if it changes
    /// nothing. The only error is cancellation: a call that cannot be undone
    /// still runs, and the checkpoint hooks warn the user.
    pub(super) async fn checkpoint_files(
        &self,
        call: &ResolvedCall,
        authorization: &Authorization,
    ) -> Result<Option<Arc<CallCheckpoint>>, ToolError> {
        let Some(keeper) = self.engine.checkpoints() else { return Ok(None) };
        let (mut paths, mut open_ended) =
            possible_changes(call, authorization, self.working_dir.load().cwd());
        let at = self.working_dir.load();
        let proposal = self.proposal(call, &at);
        let analyzer = self.engine.analyzer();
        let named = analyzer.writes(&proposal);
        paths.extend(named.paths);
        if open_ended && analyzer.side_effects(&proposal) != SideEffects::Unknown {
            open_ended = false;
        }
        if paths.is_empty() && named.opaque_dirs.is_empty() && !open_ended {
            return Ok(None);
        }
        let turn_session = self.caller.turn_session.as_deref();
        let change = Arc::new(OwnedPendingChange {
            session: turn_session.unwrap_or_else(|| self.caller.session.id()).to_owned(),
            turn: self.turn_id(),
            task: Arc::clone(&self.caller.task_id),
            call_id: call.id.clone(),
            tool: call.entry.name().to_owned(),
            paths,
            output_dirs: named.opaque_dirs,
            open_ended,
            unwritable_paths: protected_paths(authorization),
            working_dir: self.working_dir.load_full(),
            workspace: OnceLock::new(),
            deadline: self.caller.deadline,
            cancel: self.caller.cancel.clone(),
        });
        let announces = call.entry.spec().reports_changes && !open_ended;
        let kept = |change| {
            let (keeper, is_open) = (Arc::clone(keeper), AtomicBool::new(!announces));
            Some(Arc::new(CallCheckpoint {
                checkpoints: keeper,
                change,
                announces,
                is_unsettled: is_open,
            }))
        };
        if announces {
            return Ok(kept(change));
        }
        let (asked, shown) = (Arc::clone(keeper), Arc::clone(&change));
        let mut work = tokio::task::spawn_blocking(move || asked.before_call(&shown.as_pending()));
        let done = match tokio::time::timeout(PROGRESS_DELAY, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                self.report_progress(call, "saving a checkpoint of the workspace for undo");
                work.await
            }
        };
        match done {
            Ok(Ok(Some(_))) => Ok(kept(change)),
            Ok(Err(error)) if error.kind() == ErrorKind::Cancelled => Err(error),
            _ => Ok(None),
        }
    }

    fn report_progress(&self, call: &ResolvedCall, message: &str) {
        self.notify(&CallEvent::Progress {
            call: &call.id,
            tool: call.entry.name(),
            progress: &ProgressUpdate { fraction: None, message: message.to_owned() },
        });
    }

    /// Records what the call did to the files.
    pub(super) async fn finish_checkpoint(&self, kept: Option<Arc<CallCheckpoint>>) {
        let Some(kept) = kept.filter(|kept| kept.is_unsettled.load(Ordering::Acquire)) else {
            return;
        };
        let settle = move || kept.checkpoints.after_call(&kept.change.as_pending());
        let settled = tokio::task::spawn_blocking(settle);
        // The hooks report errors to the user; the call has ended either way.
        let _ = settled.await;
    }

    /// The turn of these calls: the caller's, or a new one.
    pub(crate) fn turn_id(&self) -> Arc<str> {
        let fresh = || self.caller.turn.clone().unwrap_or_else(new_turn_id);
        Arc::clone(self.turn.get_or_init(fresh))
    }
}

/// The paths that the call may change, and whether it may change any other
/// file.
fn possible_changes(
    call: &ResolvedCall,
    authorization: &Authorization,
    cwd: &Path,
) -> (Vec<PathBuf>, bool) {
    let mut open_ended = call.effects.iter().any(is_open_ended);
    // A command that cannot write in its working directory changes nothing
    // there.
    let may_write = |confinement: &Confinement| {
        confinement.write.iter().any(|tree| cwd.starts_with(tree) || tree.starts_with(cwd))
    };
    if authorization.confinement.as_ref().is_some_and(|confinement| !may_write(confinement)) {
        open_ended = false;
    }
    let changes = |effect: &Effect| is_file_change(&effect.scope);
    let mut paths: Vec<PathBuf> = match authorization.grants.list() {
        Some(list) => list
            .iter()
            .filter(|grant| changes(&grant.effect))
            .filter_map(|grant| grant.real_path.as_deref().or(grant.effect.resource.as_path()))
            .map(PathBuf::from)
            .collect(),
        None => call
            .effects
            .iter()
            .filter(|effect| changes(effect))
            .filter_map(|effect| effect.resource.as_path())
            .map(PathBuf::from)
            .collect(),
    };
    paths.sort();
    paths.dedup();
    (paths, open_ended)
}

fn is_file_change(scope: &Scope) -> bool {
    *scope == Scope::FILE_WRITE || *scope == Scope::FILE_DELETE
}

/// Whether an effect may change any file below the working directory.
fn is_open_ended(effect: &Effect) -> bool {
    let runs = [Scope::TERMINAL_EXECUTE, Scope::CODE_EXECUTE, Scope::GIT_WRITE];
    runs.contains(&effect.scope)
        || (is_file_change(&effect.scope) && effect.resource == Resource::Any)
}

/// Paths that child processes cannot write.
fn protected_paths(authorization: &Authorization) -> Vec<PathBuf> {
    let Some(confinement) = &authorization.confinement else { return Vec::new() };
    let lists = [
        &confinement.hidden,
        &confinement.read_only,
        &confinement.frozen_nested,
        &confinement.masked_missing,
    ];
    lists.into_iter().flatten().cloned().collect()
}

/// Returns a turn id that is unique across processes.
fn new_turn_id() -> Arc<str> {
    hermes_core::ids::unique_id().into()
}
