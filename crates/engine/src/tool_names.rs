//! Matches tool names in another spelling to existing ones. A repair never
//! changes the meaning: another word is another tool.

use std::collections::HashSet;

use hermes_core::similar;

use crate::tool_words::TOOL_WORDS;
use crate::toolsets::BUILTIN_TOOLSETS;

/// Namespaces that models prepend to tool names. Any other may be the name of a
/// server.
const MODEL_NAMESPACES: [&str; 8] =
    ["functions", "function", "tools", "tool", "default_api", "api", "multi_tool_use", "hermes"];

/// Minimum similarity of a suggestion.
const SUGGESTION_CUTOFF: f64 = 0.5;

/// Longest name that is matched.
const MAX_NAME_BYTES: usize = 256;

/// Other names of tools in the catalogue, as (name, tool). They explain that a
/// tool is not built; a tool that is built lists its own aliases.
const CATALOGUE_ALIASES: &[(&str, &str)] = &[
    ("email_read", "email_read"),
    ("fetch", "web_extract"),
    ("google_search", "web_search"),
    ("google_web_search", "web_search"),
    ("image_analyze", "vision_analyze"),
    ("search_web", "web_search"),
    ("skills_categories", "skills_list"),
    ("tts_speak", "text_to_speech"),
    ("web_fetch", "web_extract"),
];

/// The result of matching a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameMatch {
    /// The name exists.
    Exact,
    /// The name is this one in another spelling, or with one typo.
    Repaired(String),
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
    strip_namespace(cut_markup(written).trim())
}

/// Finds the name that `written` stands for. `known` tests whether a name
/// exists; `all` lists the names.
///
/// Names match if they differ only in case, separators, plural, a namespace or
/// the suffix `tool`, or by one typo in one word. A typo is no word that tools
/// are named with, so `web_search` is never `search_files`, and `remove_file`
/// never `read_file`.
pub fn match_name<'a>(
    written: &str,
    known: impl Fn(&str) -> bool,
    all: impl Iterator<Item = &'a str>,
) -> NameMatch {
    if known(written) {
        return NameMatch::Exact;
    }
    let cut = cut_markup(written).trim();
    if cut.is_empty() || cut.len() > MAX_NAME_BYTES {
        return NameMatch::Unknown;
    }
    let literal = strip_namespace(cut);
    if is_mcp_name(literal) {
        return match known(literal) {
            true => NameMatch::Repaired(literal.to_owned()),
            false => NameMatch::Unknown,
        };
    }
    let spellings = candidate_spellings(cut);
    if let Some(found) = spellings.iter().find(|name| !is_mcp_name(name) && known(name)) {
        return NameMatch::Repaired(found.clone());
    }
    let names: Vec<&str> = all.filter(|name| !is_mcp_name(name)).collect();
    for spelling in &spellings {
        let key = spelling_key(spelling);
        if let Some(found) = single(names.iter().filter(|name| spelling_key(name) == key)) {
            return NameMatch::Repaired((*found).to_owned());
        }
    }
    let words: HashSet<String> = names.iter().flat_map(|name| words_of(name)).collect();
    let is_word = |word: &str| words.contains(word) || is_tool_word(word);
    let written = words_of(literal);
    let near = names.iter().filter(|name| has_one_typo(&written, &words_of(name), is_word));
    match single(near) {
        Some(found) => NameMatch::Repaired((*found).to_owned()),
        None => NameMatch::Unknown,
    }
}

/// The tool of the catalogue that `written` stands for, whether it is built or
/// not.
pub fn catalogue_tool(written: &str) -> Option<&'static str> {
    let tools = || BUILTIN_TOOLSETS.iter().flat_map(|toolset| toolset.tools.iter().copied());
    let names = || {
        let mut names: Vec<_> = tools().chain(CATALOGUE_ALIASES.iter().map(|row| row.0)).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let find = |name: &str| {
        let alias = CATALOGUE_ALIASES.iter().find(|(alias, _)| *alias == name);
        alias.map(|(_, tool)| *tool).or_else(|| tools().find(|tool| *tool == name))
    };
    match match_name(written, |name| find(name).is_some(), names().into_iter()) {
        NameMatch::Exact => find(written),
        NameMatch::Repaired(name) => find(&name),
        NameMatch::Unknown => None,
    }
}

/// Suggestions for `written`, nearest first.
pub fn suggest<'a>(written: &str, all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let written = words_of(strip_decoration(written)).join("_");
    similar::ranked(&written, all, SUGGESTION_CUTOFF, 3)
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// The only item; `None` if there are several, because the name is ambiguous.
fn single<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next();
    first.filter(|_| items.next().is_none())
}

/// Whether tools are named with this word. One that is written on purpose is
/// not a misspelling of another.
fn is_tool_word(word: &str) -> bool {
    let singular = singular(word);
    let listed = |word: &str| TOOL_WORDS.binary_search(&word).is_ok();
    let in_catalogue = || {
        let mut names = BUILTIN_TOOLSETS.iter().flat_map(|toolset| toolset.tools);
        names.any(|name| name.split('_').any(|part| part == word || part == singular))
    };
    listed(word) || listed(&singular) || in_catalogue()
}

/// Whether the names differ by one typo in one word, which is not a word
/// itself.
fn has_one_typo(written: &[String], name: &[String], is_word: impl Fn(&str) -> bool) -> bool {
    let mut differing = written.iter().zip(name).filter(|(x, y)| x != y);
    match (written.len() == name.len(), differing.next(), differing.next()) {
        (true, Some((typed, meant)), None) => {
            !is_word(typed) && is_misspelling(typed, meant, name.len() == 1)
        }
        _ => false,
    }
}

/// Whether one edit turns `typed` into `meant`: two adjacent letters swapped,
/// one missing or surplus, or, in a long word, one replaced. The first letter
/// is right: words that differ there are mostly different words. A name of one
/// word has no other word that supports the guess, so it must be longer.
fn is_misspelling(typed: &str, meant: &str, is_whole_name: bool) -> bool {
    let (typed, meant): (Vec<char>, Vec<char>) = (typed.chars().collect(), meant.chars().collect());
    let shorter = typed.len().min(meant.len());
    if shorter < 4 || typed.first() != meant.first() {
        return false;
    }
    let same = typed.iter().zip(&meant).take_while(|(x, y)| x == y).count();
    let (rest, other) = (&typed[same..], &meant[same..]);
    if typed.len() != meant.len() {
        let (long, short) = if rest.len() > other.len() { (rest, other) } else { (other, rest) };
        return long.get(1..) == Some(short) && (shorter >= 6 || !is_whole_name);
    }
    match (rest, other) {
        ([a, b, rest @ ..], [c, d, other @ ..]) if a == d && b == c => rest == other,
        ([_, rest @ ..], [_, other @ ..]) => rest == other && shorter >= 6 && !is_whole_name,
        _ => false,
    }
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

/// Cuts off a namespace of models: `functions.read_file`, and the number of the
/// call that some add to it: `functions.read_file:0`.
fn strip_namespace(name: &str) -> &str {
    let Some((space, rest)) = name.split_once(['.', ':', '/']) else { return name };
    if !MODEL_NAMESPACES.contains(&space.to_lowercase().as_str()) {
        return name;
    }
    let rest = rest.trim_start_matches(['.', ':', '/']);
    match rest.rsplit_once(':') {
        Some((name, number)) if number.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => rest,
    }
}

fn normalize(name: &str) -> String {
    name.to_lowercase().replace(['-', ' ', '.', ':', '/'], "_")
}

/// The lower-case words of a name: `ReadFile` → `read`, `file`.
fn words_of(name: &str) -> Vec<String> {
    to_snake_case(name).split('_').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A name without what differs between spellings: case, separators, plural.
fn spelling_key(name: &str) -> String {
    words_of(name).iter().map(|word| singular(word)).collect()
}

fn singular(word: &str) -> String {
    let Some(stem) = word.strip_suffix('s').filter(|stem| stem.len() > 2) else {
        return word.to_owned();
    };
    match (stem.strip_suffix("ie"), stem.strip_suffix("sse")) {
        (Some(stem), _) => format!("{stem}y"),
        (_, Some(stem)) => format!("{stem}ss"),
        _ if stem.ends_with('s') => word.to_owned(),
        _ => stem.to_owned(),
    }
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
    let last = strip_namespace(name);
    if last != name {
        out.extend([last.to_owned(), normalize(last), to_snake_case(last)]);
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
