//! Secrets: detection by name and value, storage, and redaction from every
//! text.

mod common_values;
mod encodings;
pub mod environment;
mod fragments;
mod hex_dumps;
mod joined_text;
mod json;
mod number_dumps;
mod ordinary_text;
mod patterns;
mod prefilter;
pub mod redact;
pub mod reference;
mod secret;
pub mod secret_names;
mod secret_parts;
pub mod vault;
mod word_diffs;

pub use environment::{child_env, own_env};
pub use redact::{Redactor, RedactorError};
pub use secret::Secret;
pub use secret_names::{MaskedVariable, is_secret, is_secret_name, is_secret_value, mask_variable};
pub use vault::{SecretSummary, Vault, VaultError};
