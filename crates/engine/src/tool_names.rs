//! Matches misspelt tool names to existing ones.

use hermes_core::similar;

/// Minimum similarity for one name to be read as another.
const MATCH_CUTOFF: f64 = 0.7;

/// Namespaces that models prepend to tool names. Any other may be the name of a
/// server.
const MODEL_NAMESPACES: [&str; 8] =
    ["functions", "function", "tools", "tool", "default_api", "api", "multi_tool_use", "hermes"];

/// Minimum similarity of a suggestion.
const SUGGESTION_CUTOFF: f64 = 0.5;

/// The result of matching a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameMatch {
    /// The name exists.
    Exact,
    /// The name is this one in another spelling.
    Repaired(String),
    /// The name resembles this one.
    Similar {
        /// The name.
        name: String,
        /// Whether the match is close enough for a tool that changes things.
        is_confident: bool,
    },
    /// No name matches.
    Unknown,
}

/// Whether a name has the form of an MCP tool. Two such names that differ in
/// one letter may be different tools, so they are only matched exactly.
pub fn is_mcp_name(name: &str) -> bool {
    name.starts_with("mcp__") || name.strip_prefix("mcp-").is_some_and(|rest| rest.contains(':'))
}

/// Strips markup and namespaces that models add to a name.
pub fn strip_decoration(written: &str) -> &str {
    let cut = cut_markup(written).trim();
    match cut.split_once(['.', ':', '/']) {
        Some((space, rest)) if MODEL_NAMESPACES.contains(&space.to_lowercase().as_str()) => rest,
        _ => cut,
    }
}

/// Finds the name that `written` stands for. `known` tests whether a name
/// exists; `all` lists the names, for similarity as a last resort.
pub fn match_name<'a>(
    written: &str,
    known: impl Fn(&str) -> bool,
    all: impl Iterator<Item = &'a str>,
) -> NameMatch {
    if known(written) {
        return NameMatch::Exact;
    }
    let cut = cut_markup(written).trim();
    if cut.is_empty() || cut.len() > 256 {
        return NameMatch::Unknown;
    }
    let literal = strip_decoration(written);
    if is_mcp_name(literal) {
        return match known(literal) {
            true => NameMatch::Repaired(literal.to_owned()),
            false => NameMatch::Unknown,
        };
    }
    for candidate in candidate_spellings(cut) {
        if !is_mcp_name(&candidate) && known(&candidate) {
            return NameMatch::Repaired(candidate);
        }
    }
    let all = all.filter(|name| !is_mcp_name(name));
    // A tie between two names is ambiguous, so neither is taken.
    let ranked = similar::ranked(&normalize(cut), all, MATCH_CUTOFF, 2);
    let alike = |name: &str| NameMatch::Similar {
        name: name.to_owned(),
        is_confident: is_typo(&normalize(cut), &normalize(name)),
    };
    match ranked.as_slice() {
        [(name, _)] => alike(name),
        [(name, best), (_, second), ..] if best - second > 0.01 => alike(name),
        _ => NameMatch::Unknown,
    }
}

/// Whether the names differ by one typo in one word: an extra letter, a missing
/// letter, or two swapped ones. A different word makes a different name,
/// however long the common rest.
fn is_typo(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('_').collect(), b.split('_').collect());
    let mut differing = a.iter().zip(&b).filter(|(x, y)| x != y);
    match (a.len() == b.len(), differing.next(), differing.next()) {
        (true, Some((x, y)), None) => is_single_edit(x, y) || is_single_edit(y, x),
        _ => false,
    }
}

/// Whether `long` is `short` with one extra letter, or with two adjacent
/// letters swapped.
fn is_single_edit(long: &str, short: &str) -> bool {
    let (long, short): (Vec<char>, Vec<char>) = (long.chars().collect(), short.chars().collect());
    if short.len() < 4 {
        return false;
    }
    let same = long.iter().zip(&short).take_while(|(x, y)| x == y).count();
    let (rest, other) = (&long[same..], &short[same..]);
    match long.len().checked_sub(short.len()) {
        Some(1) => rest.get(1..) == Some(other),
        Some(0) => {
            rest.len() > 1 && rest[0] == other[1] && rest[1] == other[0] && rest[2..] == other[2..]
        }
        _ => false,
    }
}

/// Suggestions for `written`, nearest first.
pub fn suggest<'a>(written: &str, all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let written = normalize(cut_markup(written).trim());
    similar::ranked(&written, all, SUGGESTION_CUTOFF, 3)
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Cuts off markup that models leak into names: `read_file"`, `terminal<arg>`.
fn cut_markup(name: &str) -> &str {
    let end = name
        .char_indices()
        .skip(1)
        .find(|(_, c)| matches!(c, '"' | '\'' | '<' | '>'))
        .map_or(name.len(), |(at, _)| at);
    name.get(..end).unwrap_or(name)
}

fn normalize(name: &str) -> String {
    name.to_lowercase().replace(['-', ' ', '.', ':', '/'], "_")
}

/// `ReadFile` → `read_file`, `HTTPRequest` → `http_request`.
fn to_snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::with_capacity(name.len() + 4);
    for (i, &c) in chars.iter().enumerate() {
        if c.is_uppercase() && i > 0 {
            let after_lower = chars.get(i - 1).is_some_and(|p| p.is_lowercase() || p.is_numeric());
            let before_lower = chars.get(i + 1).is_some_and(|n| n.is_lowercase());
            let after_upper = chars.get(i - 1).is_some_and(|p| p.is_uppercase());
            if after_lower || (after_upper && before_lower) {
                out.push('_');
            }
        }
        out.extend(c.to_lowercase());
    }
    normalize(&out)
}

/// The spellings to try, the most literal first.
fn candidate_spellings(name: &str) -> Vec<String> {
    let mut out = vec![name.to_owned(), name.to_lowercase(), normalize(name), to_snake_case(name)];
    // Names such as `functions.read_file` carry a namespace.
    if let Some((space, last)) = name.rsplit_once(['.', ':', '/'])
        && MODEL_NAMESPACES.contains(&space.to_lowercase().as_str())
    {
        out.push(normalize(last));
        out.push(to_snake_case(last));
    }
    let mut stripped = out.clone();
    for _ in 0..2 {
        stripped = stripped
            .iter()
            .filter_map(|spelling| {
                let rest =
                    ["_tool", "-tool", "tool"].iter().find_map(|s| spelling.strip_suffix(s))?;
                Some(rest.trim_end_matches(['_', '-']).to_owned())
            })
            .filter(|rest| !rest.is_empty())
            .collect();
        for rest in &stripped {
            out.push(rest.clone());
            out.push(normalize(rest));
        }
    }
    out.dedup();
    out
}

#[cfg(test)]
#[path = "tool_names_tests.rs"]
mod tests;
