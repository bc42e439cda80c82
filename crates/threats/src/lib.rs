//! Untrusted text: finds instructions hidden in it and labels it as data.

mod encoded_blobs;
mod escapes;
mod finding;
mod fold;
mod hidden;
mod label;
mod lookalikes;
mod patterns;
mod respell;
mod scan;
mod traced;

pub use finding::{ScanLevel, ThreatCategory, ThreatFinding};
pub use hidden::is_hidden;
pub use label::{LabelledText, is_labelled, label, unlabel};
pub use scan::scan;
