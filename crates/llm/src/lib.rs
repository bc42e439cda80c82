//! Models: what is asked of them ([`Request`]), how they answer ([`Event`]s
//! that add up to a [`Reply`]), and what can go wrong ([`Fault`]).

mod fault;
mod message;
mod model;
mod reply;
mod request;

pub use fault::{Fault, FaultKind};
pub use message::{Answer, Image, Message, Part};
pub use model::{Model, Stream};
pub use reply::{Asked, Event, Finish, Gathering, Reasoning, Reply, Usage};
pub use request::{Choice, Request};
