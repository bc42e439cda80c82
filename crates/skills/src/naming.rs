//! Rules for skill names, and their form in a command line.

use hermes_threats::is_hidden;

/// Maximum length of a name.
pub(crate) const MAX_NAME_CHARS: usize = 64;
/// Maximum length of a description.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1024;

/// Returns the name as typed after a slash: lowercase letters, digits, single
/// hyphens.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            '-' | '_' => hyphen(&mut slug),
            c if c.is_whitespace() => hyphen(&mut slug),
            c if c.is_alphanumeric() => slug.push(c),
            _ => {}
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

fn hyphen(slug: &mut String) {
    if !slug.is_empty() && !slug.ends_with('-') {
        slug.push('-');
    }
}

/// Returns what is wrong with a name by the common rules for skills; None if it
/// is valid.
pub(crate) fn name_problem(name: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if name.chars().count() > MAX_NAME_CHARS {
        return Some("the name exceeds 64 characters");
    }
    if !name.chars().all(|c| is_plain(c) || c == '-') {
        return Some("the name may only contain lowercase letters, digits and hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Some("a hyphen in the name must be between letters or digits");
    }
    None
}

/// Returns the text as one line without invisible characters, truncated to
/// `most`.
pub(crate) fn sanitize_line(text: &str, most: usize) -> String {
    let seen: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !is_hidden(*c))
        .collect();
    let line = seen.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let kept: String = line.chars().take(most.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

#[cfg(test)]
#[path = "naming_tests.rs"]
mod tests;
