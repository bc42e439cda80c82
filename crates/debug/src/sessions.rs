//! The debugged programs of each session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hermes_core::ToolError;
use parking_lot::{Mutex, MutexGuard};

use crate::session::{DebugSession, DebuggeeStatus};

/// A program that has not been used for this long is ended.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Limits per session on running programs, and overall on ended ones that are
/// kept.
const MAX_RUNNING_SESSIONS: usize = 8;
const MAX_ENDED_SESSIONS: usize = 8;

/// Maximum length of a name.
const MAX_NAME_CHARS: usize = 100;

/// All debugged programs.
#[derive(Debug, Default)]
pub struct DebugSessions {
    all: Mutex<Vec<Arc<DebugSession>>>,
    /// Reservations for programs that are starting: owner and name.
    reserved: Arc<Mutex<Vec<(String, String)>>>,
    last_number: AtomicU64,
}

/// A reserved name for a program that is starting; released on drop.
#[derive(Debug)]
pub struct SessionReservation {
    /// The reserved name.
    pub name: String,
    owner: String,
    reserved: Arc<Mutex<Vec<(String, String)>>>,
}

impl Drop for SessionReservation {
    fn drop(&mut self) {
        let mut taken = self.reserved.lock();
        let own = taken.iter().position(|(owner, name)| *owner == self.owner && *name == self.name);
        own.map(|at| taken.swap_remove(at));
    }
}

impl DebugSessions {
    /// Reserves a name for a new program: the requested one, or an unused one.
    /// It counts towards the limit immediately, because starting takes a while.
    ///
    /// # Errors
    /// If the session has too many programs, the name is invalid, or a program
    /// of that name is still being debugged.
    pub fn reserve(
        &self,
        owner: &str,
        wanted: Option<&str>,
    ) -> Result<SessionReservation, ToolError> {
        let mut taken = self.reserved.lock();
        let own = self.owned_by(owner);
        let begun = taken.iter().filter(|(of, _)| of == owner).map(|(_, name)| name.clone());
        let open = own.iter().filter(|one| !has_ended(one)).map(|one| one.id.clone());
        let mut open: Vec<String> = open.chain(begun).collect();
        // A program that is already registered may still have its reservation.
        open.sort_unstable();
        open.dedup();
        let name = match wanted.filter(|wanted| !wanted.is_empty()) {
            Some(wanted) => check_name(wanted, &open)?,
            None => self.unused_name(|name| open.iter().any(|it| it == name), &own),
        };
        if open.len() >= MAX_RUNNING_SESSIONS {
            let message = format!(
                "{MAX_RUNNING_SESSIONS} programs are already being debugged: {}",
                open.join(", ")
            );
            return Err(ToolError::limit(message).with_hint("End one with action 'stop'."));
        }
        taken.push((owner.to_owned(), name.clone()));
        Ok(SessionReservation {
            name,
            owner: owner.to_owned(),
            reserved: Arc::clone(&self.reserved),
        })
    }

    fn unused_name(&self, is_open: impl Fn(&str) -> bool, own: &[Arc<DebugSession>]) -> String {
        loop {
            let name = format!("debug_{}", self.last_number.fetch_add(1, Ordering::Relaxed) + 1);
            if !is_open(&name) && own.iter().all(|one| one.id != name) {
                return name;
            }
        }
    }

    /// Adds a program, replacing one of the same name.
    pub fn add(&self, session: Arc<DebugSession>) {
        tokio::spawn(end_when_idle(Arc::downgrade(&session)));
        let mut all = self.lock();
        all.retain(|one| one.id != session.id || one.owner != session.owner);
        all.push(session);
        let mut old =
            all.iter().filter(|one| has_ended(one)).count().saturating_sub(MAX_ENDED_SESSIONS);
        all.retain(|one| {
            let goes = old > 0 && has_ended(one);
            old -= usize::from(goes);
            !goes
        });
    }

    /// Returns a program of a session by name, or the last one.
    ///
    /// # Errors
    /// If it does not exist; the hint lists the existing names.
    pub fn get(&self, owner: &str, id: Option<&str>) -> Result<Arc<DebugSession>, ToolError> {
        let own = self.owned_by(owner);
        let found = match id {
            Some(id) => own.iter().find(|one| one.id == id),
            // The last one even if it has ended: another one that still runs is
            // not meant.
            None => own.last(),
        };
        if let Some(found) = found {
            found.touch();
            return Ok(Arc::clone(found));
        }
        let names: Vec<&str> = own.iter().map(|one| one.id.as_str()).collect();
        let error = match id {
            Some(id) => ToolError::not_found(format!("No such debugging session: '{id}'")),
            None => ToolError::conflict("No program is being debugged"),
        };
        Err(error.with_hint(match names.is_empty() {
            true => "Start one with action 'run'.".to_owned(),
            false => format!("There are: {}.", names.join(", ")),
        }))
    }

    /// Returns the programs of a session, oldest first.
    pub fn owned_by(&self, owner: &str) -> Vec<Arc<DebugSession>> {
        self.lock().iter().filter(|one| one.owner == owner).cloned().collect()
    }

    /// Removes a program.
    pub fn remove(&self, session: &Arc<DebugSession>) {
        self.lock().retain(|one| !Arc::ptr_eq(one, session));
    }

    /// Ends all programs.
    pub async fn close(&self) {
        let all = std::mem::take(&mut *self.lock());
        let ends = all.into_iter().map(|one| tokio::spawn(async move { one.end().await }));
        for end in ends.collect::<Vec<_>>() {
            let _ = end.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<DebugSession>>> {
        self.all.lock()
    }
}

/// Checks that a requested name is valid and unused.
fn check_name(wanted: &str, open: &[String]) -> Result<String, ToolError> {
    if wanted.chars().count() > MAX_NAME_CHARS || wanted.chars().any(char::is_control) {
        return Err(ToolError::invalid(format!(
            "The name of a session must be one line of at most {MAX_NAME_CHARS} characters"
        )));
    }
    if open.iter().any(|name| name == wanted) {
        return Err(ToolError::conflict(format!("'{wanted}' is already being debugged"))
            .with_hint("Continue, 'restart' or 'stop' it, or use another session name."));
    }
    Ok(wanted.to_owned())
}

fn has_ended(session: &DebugSession) -> bool {
    matches!(session.status(), DebuggeeStatus::Ended(_))
}

/// Ends a program that is no longer used.
async fn end_when_idle(session: Weak<DebugSession>) {
    loop {
        let left = match session.upgrade() {
            Some(session) if !has_ended(&session) => {
                IDLE_TIMEOUT.saturating_sub(session.idle_time())
            }
            _ => return,
        };
        if left.is_zero() {
            if let Some(session) = session.upgrade() {
                session.set_end_reason("it was not used for 30 minutes");
                session.end().await;
            }
            return;
        }
        tokio::time::sleep(left).await;
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
