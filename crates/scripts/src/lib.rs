//! Scripts that call tools: the module that they import, the door that their
//! calls come through, and the bounds that they are held to.
//!
//! [`Scripts`] runs a [`Script`] where the session's commands run. On this
//! machine its calls come through a Unix socket in a folder of its own; in
//! another place a bridge of the script's own interpreter listens there and
//! carries them on one trip. Every call goes on to the session's host, that
//! is, through the whole pipeline.

mod bridge;
mod desk;
mod door;
mod finish;
mod frames;
mod interpreter;
mod limits;
mod offer;
mod room;
mod run;
mod stubs;
mod syntax;
mod token;

pub use finish::{Outcome, Status};
pub use limits::{Language, Limits, Mode};
pub use run::{Script, Scripts};
