//! Programs under a debugger, by the Debug Adapter Protocol.
//!
//! A [`Session`] is one program: started where commands run, stopped where it
//! was asked to, looked at, and ended. Python and Node need no network for
//! that; native programs need `lldb-dap` or a `gdb` that speaks the protocol.

mod adapter;
mod breakpoints;
mod client;
mod look;
mod session;
mod sessions;
mod stack;
mod state;
mod stream;
mod values;
mod wire;

pub use adapter::{Adapter, Launch, Target};
pub use breakpoints::{Breakpoint, Wanted};
pub use look::{Found, Kind, look};
pub use session::{Context, Met, Session, Step};
pub use sessions::{Place, Sessions};
pub use stack::{Exception, Frame};
pub use state::{Printed, Stop};
pub use values::{Bounds, Variable};
