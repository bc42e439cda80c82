//! What is shown of an environment variable in place of a secret. In doubt
//! it is one: a masked word is a nuisance, a shown key is a leak.

use hermes_secrets::is_secret;

/// A value as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaskedValue {
    /// The value, or what stands for it.
    pub(crate) text: String,
    /// Whether something stands for it.
    pub(crate) masked: bool,
}

/// The value of a variable, masked if it looks secret.
pub(crate) fn mask_value(name: &str, value: &str) -> MaskedValue {
    let masked = !value.is_empty() && is_secret(name, value);
    let text = if masked {
        format!("[masked, {} characters]", value.chars().count())
    } else {
        value.to_owned()
    };
    MaskedValue { text, masked }
}
