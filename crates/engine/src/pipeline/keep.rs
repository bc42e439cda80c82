//! Before and after stage 8: what the call may change is kept, so that it can
//! be undone.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use hermes_core::{
    CancellationToken, CheckpointHooks, Confinement, Effect, ErrorKind, PendingChange, FileWritten, Ports,
    ProgressUpdate, ChangeReporter, Resource, Scope, ToolError, WorkingDir,
};

use hermes_shell::SideEffects;

use super::{Flight, Judged, Known};
use crate::{elsewhere, extent};

/// After this long, whoever watches is told what is being waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A call whose files are kept: before it runs, or when it announces a change.
pub(super) struct Kept {
    keeper: Arc<dyn CheckpointHooks>,
    change: Arc<Change>,
    announces: bool,
    /// Whether what it has made of its files is still to be found out.
    is_open: AtomicBool,
}

impl Kept {
    /// The ports of the call: those of all calls, and the one by which it
    /// announces its changes.
    pub(super) fn ports(self: &Arc<Self>, of_all: &Arc<Ports>) -> Arc<Ports> {
        if !self.announces {
            return Arc::clone(of_all);
        }
        Arc::new(Ports::clone(of_all).with::<dyn ChangeReporter>(Arc::clone(self) as _))
    }
}

/// The keeper tells the user itself of what it cannot keep.
impl ChangeReporter for Kept {
    fn before_change(&self, places: &[PathBuf]) {
        self.is_open.store(true, Ordering::Release);
        let _ = self.keeper.before_change(&self.change.impending(), places);
    }

    fn prune(&self) {
        self.keeper.prune(&self.change.impending());
    }

    fn after_change(&self, made: &[FileWritten<'_>]) {
        let _ = self.keeper.after_change(&self.change.impending(), made);
        self.is_open.store(false, Ordering::Release);
    }
}

/// An [`Impending`] that owns what it tells, since it travels to another
/// thread.
struct Change {
    session: String,
    turn: Arc<str>,
    task: Arc<str>,
    call_id: String,
    tool: String,
    places: Vec<PathBuf>,
    filled: Vec<PathBuf>,
    open_ended: bool,
    spared: Vec<PathBuf>,
    workplace: Arc<WorkingDir>,
    ground: OnceLock<PathBuf>,
    deadline: Option<Instant>,
    cancel: CancellationToken,
}

impl Change {
    fn impending(&self) -> PendingChange<'_> {
        PendingChange {
            session: &self.session,
            turn: &self.turn,
            task: &self.task,
            call_id: &self.call_id,
            tool: &self.tool,
            paths: &self.places,
            output_dirs: &self.filled,
            open_ended: self.open_ended,
            unwritable_paths: &self.spared,
            working_dir: &self.workplace,
            workspace: &self.ground,
            deadline: self.deadline,
            cancel: &self.cancel,
        }
    }
}

impl Flight {
    /// Keeps what the call may change; none if that is nothing. The only error
    /// is that the call was stopped meanwhile: a call that cannot be undone is
    /// made all the same, and whoever keeps the files tells the user.
    pub(super) async fn keep_files(
        &self,
        call: &Known,
        judged: &Judged,
    ) -> Result<Option<Arc<Kept>>, ToolError> {
        let Some(keeper) = self.engine.checkpoints() else { return Ok(None) };
        let (mut places, mut open_ended) = reach(call, judged, self.workplace.load().cwd());
        let named = elsewhere::named(self, call);
        places.extend(named.places);
        if open_ended && extent::of(self, call) != SideEffects::Unknown {
            open_ended = false;
        }
        if places.is_empty() && named.filled.is_empty() && !open_ended {
            return Ok(None);
        }
        let change = Arc::new(Change {
            session: self.caller.session.id().to_owned(),
            turn: self.turn(),
            task: Arc::clone(&self.caller.task_id),
            call_id: call.id.clone(),
            tool: call.entry.name().to_owned(),
            places,
            filled: named.filled,
            open_ended,
            spared: spared(judged),
            workplace: self.workplace.load_full(),
            ground: OnceLock::new(),
            deadline: self.caller.deadline,
            cancel: self.caller.cancel.clone(),
        });
        let announces = call.entry.spec().reports_changes && !open_ended;
        let kept = |change| {
            let (keeper, is_open) = (Arc::clone(keeper), AtomicBool::new(!announces));
            Some(Arc::new(Kept { keeper, change, announces, is_open }))
        };
        if announces {
            return Ok(kept(change));
        }
        let (asked, told) = (Arc::clone(keeper), Arc::clone(&change));
        let mut work = tokio::task::spawn_blocking(move || asked.before_call(&told.impending()));
        let done = match tokio::time::timeout(PATIENCE, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                self.tell(call, "keeping the files of the workspace, so that this can be undone");
                work.await
            }
        };
        match done {
            Ok(Ok(Some(_))) => Ok(kept(change)),
            Ok(Err(error)) if error.kind() == ErrorKind::Cancelled => Err(error),
            _ => Ok(None),
        }
    }

    fn tell(&self, call: &Known, message: &str) {
        if let Some(onlooker) = &self.caller.onlooker {
            onlooker.progress(
                &call.id,
                call.entry.name(),
                &ProgressUpdate { fraction: None, message: message.to_owned() },
            );
        }
    }

    /// Has it looked up what the call made of the files.
    pub(super) async fn settle_files(&self, kept: Option<Arc<Kept>>) {
        let Some(kept) = kept.filter(|kept| kept.is_open.load(Ordering::Acquire)) else { return };
        let settle = move || kept.keeper.after_call(&kept.change.impending());
        let settled = tokio::task::spawn_blocking(settle);
        // The keeper tells the user itself; the call is through either way.
        let _ = settled.await;
    }

    /// The turn of these calls: the caller's, or one of their own.
    pub(crate) fn turn(&self) -> Arc<str> {
        let fresh = || self.caller.turn.clone().unwrap_or_else(fresh_turn);
        Arc::clone(self.turn.get_or_init(fresh))
    }
}

/// The places that the call may change, and whether it may change any.
fn reach(call: &Known, judged: &Judged, cwd: &Path) -> (Vec<PathBuf>, bool) {
    let mut open_ended = call.effects.iter().any(is_open_ended);
    // A command that may not write where it is changes nothing there.
    let may_write = |held: &Confinement| {
        held.write.iter().any(|tree| cwd.starts_with(tree) || tree.starts_with(cwd))
    };
    if judged.confinement.as_ref().is_some_and(|held| !may_write(held)) {
        open_ended = false;
    }
    let changes = |effect: &Effect| is_change(&effect.scope);
    let mut places: Vec<PathBuf> = match judged.grants.list() {
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
    places.sort();
    places.dedup();
    (places, open_ended)
}

fn is_change(scope: &Scope) -> bool {
    *scope == Scope::FILE_WRITE || *scope == Scope::FILE_DELETE
}

/// Whether an effect can be on any file below the working folder.
fn is_open_ended(effect: &Effect) -> bool {
    let runs = [Scope::TERMINAL_EXECUTE, Scope::CODE_EXECUTE, Scope::GIT_WRITE];
    runs.contains(&effect.scope) || (is_change(&effect.scope) && effect.resource == Resource::Any)
}

/// What child processes cannot write.
fn spared(judged: &Judged) -> Vec<PathBuf> {
    let Some(held) = &judged.confinement else { return Vec::new() };
    let lists = [&held.hidden, &held.read_only, &held.frozen_nested, &held.masked_missing];
    lists.into_iter().flatten().cloned().collect()
}

/// A name that no other turn has, in this process or another.
fn fresh_turn() -> Arc<str> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{number:x}", now.as_nanos(), std::process::id()).into()
}
