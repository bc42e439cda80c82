//! Models: what is asked of them ([`Request`]), how they answer ([`Event`]s
//! that add up to a [`Reply`]), what can go wrong ([`Fault`]), and where they
//! are ([`Endpoint`], [`find`]).

mod adapt;
mod classify;
mod dialect;
mod endpoint;
mod fault;
pub mod find;
mod halves;
mod http;
mod kept;
mod message;
mod model;
mod musing;
mod reply;
mod request;
mod server;
mod spoken;
mod sse;
mod steady;

pub use endpoint::{Dialect, Endpoint, Key, Prices};
pub use fault::{Fault, FaultKind};
pub use halves::mended as whole_characters;
pub use http::Http;
pub use message::{Answer, Image, Message, Part};
pub use model::{Model, Stream};
pub use reply::{Asked, Event, Finish, Gathering, Reasoning, Reply, Usage};
pub use request::{Choice, Request};
pub use server::Server;
pub use steady::{Remedy, Retries, Setback, Steady, Told};
