//! Commands that run: each is a job, whether somebody waits for it or not.
//!
//! A [`Backend`] starts programs; a [`Job`] is one of them, with its
//! [`output::Log`] and perhaps a [`screen::Screen`]; [`Jobs`] are all of a
//! program. A [`state::ShellState`] is what a session's shell carries from one
//! command to the next.

mod askpass;
mod attend;
mod backend;
mod closing;
mod containment;
mod disk_watch;
pub mod docker;
pub mod elsewhere;
mod errand;
mod fleeting;
#[cfg(target_os = "linux")]
mod guardian;
pub mod halves;
mod job;
mod jobs;
mod keeping;
pub mod leftovers;
mod listed;
mod local;
pub mod network;
mod order;
pub mod output;
mod patient;
mod ready;
mod room;
mod scratch;
pub mod screen;
mod shortcut;
pub mod singularity;
pub mod ssh;
pub mod state;
mod strays;
pub mod surroundings;
mod times;
pub mod transfer;
pub mod tree;
pub mod watch;

pub use askpass::Askpass;
pub use attend::Attention;
pub use backend::{Backend, Control, Exit, Place, Shell, Started, Waiting};
pub use containment::{JobContainment, SandboxStop};
pub use elsewhere::{Carriage, Carrier, Elsewhere, Way};
pub use errand::{Done, Errand};
pub use fleeting::Fleeting;
pub use hermes_sandbox::den;
pub use job::{Ended, Job, Patience, Pause, Reports};
pub use jobs::{GRACE, Jobs, Stage, Vouched};
pub use keeping::Keep;
pub use listed::{Listed, News};
pub use local::Local;
pub use network::{ListeningPort, NetworkTable, SessionNetwork};
pub use order::{Input, Order, Output, Size};
pub use patient::Patient;
pub use room::Room;
pub use times::Times;
