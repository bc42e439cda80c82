//! What skills may be called, and how they are called in a line.

use hermes_threats::is_hidden;

/// The longest name.
pub(crate) const MAX_NAME_CHARS: usize = 64;
/// The longest description.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1024;

/// The name as it is typed after a slash: small letters, digits, single hyphens.
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

/// What is wrong with a name, by the rules that skills of all programs share; none if it is a good one.
pub(crate) fn name_problem(name: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if name.chars().count() > MAX_NAME_CHARS {
        return Some("the name has more than 64 characters");
    }
    if !name.chars().all(|c| is_plain(c) || c == '-') {
        return Some("a name is made of small letters, digits and hyphens");
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Some("hyphens stand singly, between letters or digits");
    }
    None
}

/// A text of one line with nothing invisible in it, cut to fit.
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
