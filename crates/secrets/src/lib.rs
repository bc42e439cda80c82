//! What is secret: which names and values, how they are kept, and how they
//! are kept out of every text.

mod common_values;
mod hex_dumps;
mod encodings;
pub mod environment;
mod fragments;
mod json;
mod prefilter;
mod secret_parts;
pub mod secret_names;
mod patterns;
pub mod redact;
pub mod reference;
mod secret;
pub mod vault;
mod ordinary_text;

pub use environment::{child_env, own_env};
pub use secret_names::{MaskedVariable, is_secret, is_secret_name, is_secret_value, mask_variable};
pub use redact::{Redactor, RedactorError};
pub use secret::Secret;
pub use vault::{SecretSummary, Vault, VaultError};
