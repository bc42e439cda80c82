//! Masks secret environment values. When in doubt, a value is masked: a masked
//! word is a nuisance, a shown key is a leak.

use hermes_secrets::is_secret;

/// A value, safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MaskedValue {
    /// The value or its mask.
    pub(crate) text: String,
    /// Whether the value is masked.
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
