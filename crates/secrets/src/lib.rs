//! What is secret: which names and values, how they are kept, and how they
//! are kept out of every text.

mod commonplace;
mod dumps;
mod encodings;
pub mod environment;
mod fragments;
mod json;
mod lanes;
mod lines;
pub mod names;
mod patterns;
pub mod redact;
pub mod reference;
mod secret;
pub mod vault;
mod wording;

pub use environment::{child_env, own_env};
pub use names::{Shown, is_secret, is_secret_name, is_secret_value, shown};
pub use redact::{Redactor, RedactorError};
pub use secret::Secret;
pub use vault::{Listed, Vault, VaultError};
