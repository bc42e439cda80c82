//! Addresses of the files of skills: `skill://NAME/PATH`.

use crate::catalogue::Catalogue;
use crate::skill::Skill;

/// How such an address begins.
const SCHEME: &str = "skill://";

impl Skill {
    /// The address of one of its files.
    pub fn address_of(&self, path: &str) -> String {
        format!("{SCHEME}{}/{}", encode(&self.address), encode(path))
    }
}

impl Catalogue {
    /// The skill that an address is about, and the path of the file; none if it is about none of these.
    pub fn at(&self, address: &str) -> Option<(&Skill, String)> {
        let rest = decode(address.strip_prefix(SCHEME)?)?;
        let path_in = |skill: &Skill| {
            rest.strip_prefix(skill.address.as_str())?.strip_prefix('/').map(str::to_owned)
        };
        let found = self.ready().filter_map(|skill| Some((skill, path_in(skill)?)));
        // The name of one may be the beginning of another's path.
        found.max_by_key(|(skill, _)| skill.address.len())
    }
}

fn encode(text: &str) -> String {
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

fn decode(text: &str) -> Option<String> {
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
#[path = "address_tests.rs"]
mod tests;
