//! URIs of skill files: `skill://NAME/PATH`.

use crate::catalogue::SkillCatalogue;
use crate::skill::Skill;

/// The prefix of these URIs.
const SKILL_SCHEME: &str = "skill://";

impl Skill {
    /// Returns the URI of a file of the skill.
    pub fn file_uri(&self, path: &str) -> String {
        format!("{SKILL_SCHEME}{}/{}", percent_encode(&self.qualified_name), percent_encode(path))
    }
}

impl SkillCatalogue {
    /// Resolves a URI to a skill and the path of the file; None if it matches
    /// no usable skill.
    pub fn resolve_uri(&self, address: &str) -> Option<(&Skill, String)> {
        let rest = percent_decode(address.strip_prefix(SKILL_SCHEME)?)?;
        let path_in = |skill: &Skill| {
            rest.strip_prefix(skill.qualified_name.as_str())?.strip_prefix('/').map(str::to_owned)
        };
        let found = self.ready().filter_map(|skill| Some((skill, path_in(skill)?)));
        // One skill's name may be a prefix of another's.
        found.max_by_key(|(skill, _)| skill.qualified_name.len())
    }
}

fn percent_encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[path = "uri_tests.rs"]
mod tests;
