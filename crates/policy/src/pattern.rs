//! The patterns used in rules: scopes, paths, hosts and names.

use std::borrow::Cow;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher};
use hermes_core::Scope;
use unicode_normalization::UnicodeNormalization as _;

/// Pattern for scopes: `*`, `file:*` or `file:read`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopePattern(String);

impl ScopePattern {
    /// Parses a pattern; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let word = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        };
        let is_pattern = match text.split_once(':') {
            _ if text == "*" => true,
            Some((family, verb)) => word(family) && (verb == "*" || word(verb)),
            None => false,
        };
        if !is_pattern {
            return Err(format!(
                "'{text}' is not a valid scope; use a form such as file:read, \
                file:* or *"
            ));
        }
        let pattern = Self(text.to_owned());
        if pattern.is_known() {
            return Ok(pattern);
        }
        let all = Scope::ALL.iter().map(Scope::as_str);
        let near = hermes_core::similar::nearest(text, all, 0.6);
        Err(match near {
            Some(near) => format!("Unknown scope '{text}'; did you mean '{near}'?"),
            None => format!("Unknown scope '{text}'; `hermes permissions show` lists all scopes"),
        })
    }

    /// Whether any tool can have such an effect.
    fn is_known(&self) -> bool {
        self.0.starts_with("mcp:") || Scope::ALL.iter().any(|scope| self.matches(scope))
    }

    /// Whether the pattern matches the scope.
    pub fn matches(&self, scope: &Scope) -> bool {
        match self.0.strip_suffix('*') {
            Some(prefix) => scope.as_str().starts_with(prefix),
            None => scope.as_str() == self.0,
        }
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Values of the variables in path patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathVariables {
    /// The workspace, as a real path; `None` if it would be the whole file
    /// system.
    pub workspace: Option<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The hermes home directory.
    pub hermes: PathBuf,
    /// Directories for temporary files.
    pub temp: Vec<PathBuf>,
}

/// A glob over real paths.
#[derive(Debug, Clone)]
pub struct PathPattern {
    written: String,
    matchers: Vec<LazyGlob>,
    /// Directories whose whole trees the pattern covers.
    trees: Vec<PathBuf>,
    /// Paths that the pattern names exactly.
    single_paths: Vec<PathBuf>,
    /// Whether the pattern covers only these, compared exactly.
    is_literal: bool,
    /// A home directory inside a temporary directory, which `${tmp}` does not
    /// cover.
    except: Option<PathBuf>,
}

/// A glob that is compiled on first use; most never are.
#[derive(Debug, Clone)]
struct LazyGlob {
    glob: Glob,
    compiled: OnceLock<GlobMatcher>,
}

impl LazyGlob {
    fn is_match(&self, path: &Path) -> bool {
        self.compiled.get_or_init(|| self.glob.compile_matcher()).is_match(path)
    }
}

/// How a pattern compares spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpellingMode {
    /// Exact comparison, for rules that allow.
    Exact,
    /// Ignores case and Unicode variants, for rules that deny.
    Loose,
}

impl PathPattern {
    /// Parses a pattern. `${workspace}`, `${home}`, `${hermes}`, `${tmp}` and
    /// `~` expand to directories; a relative pattern is below the workspace.
    pub fn parse(
        text: &str,
        places: &PathVariables,
        spelling: SpellingMode,
    ) -> Result<Self, String> {
        let mut matchers = Vec::new();
        let (mut trees, mut single) = (Vec::new(), Vec::new());
        let mut simple = spelling == SpellingMode::Exact;
        for base in expand_variables(text, places)? {
            for form in link_forms(&normalize_pattern(&base))? {
                let (dir, places) = match form.strip_suffix("/**") {
                    Some(dir) => (literal_path(dir), &mut trees),
                    None => (literal_path(&form), &mut single),
                };
                simple &= dir.is_some();
                places.extend(dir);
                matchers.extend(compile_globs(&form, spelling)?);
            }
        }
        let among = |home: &&PathBuf| places.temp.iter().any(|temp| is_within(home, temp));
        let except = places.home.as_ref().filter(|_| text.starts_with("${tmp}")).filter(among);
        let except = except.cloned();
        Ok(Self {
            written: text.to_owned(),
            matchers,
            trees,
            single_paths: single,
            is_literal: simple,
            except,
        })
    }

    /// Whether the pattern matches the path. For [`SpellingMode::Loose`], pass
    /// the folded path.
    pub fn matches(&self, path: &Path) -> bool {
        if self.except.as_ref().is_some_and(|home| is_within(path, home)) {
            return false;
        }
        if self.is_literal {
            return self.trees.iter().any(|tree| is_within(path, tree))
                || self.single_paths.iter().any(|single| single.as_os_str() == path.as_os_str());
        }
        self.matchers.iter().any(|matcher| matcher.is_match(path))
    }

    /// Returns the path inside its trees that is not covered.
    pub(crate) fn except(&self) -> Option<&Path> {
        self.except.as_deref()
    }

    /// Whether the pattern is literal and names no directory that many programs
    /// share for their sockets.
    pub(crate) fn names_sockets(&self, places: &PathVariables) -> bool {
        const COMMON_SOCKET_DIRS: &[&str] =
            &["/run/user", "/var/run", "/run", "/dev/shm", "/var/tmp", "/tmp"];
        let known = places.home.iter().chain(&places.workspace).chain(&places.temp);
        let known: Vec<&Path> =
            known.map(PathBuf::as_path).chain(COMMON_SOCKET_DIRS.iter().map(Path::new)).collect();
        let is_common = |tree: &PathBuf| {
            let of_user = tree.parent() == Some(Path::new("/run/user"));
            of_user || known.iter().any(|place| place.starts_with(tree))
        };
        self.is_literal && !self.trees.iter().chain(&self.single_paths).any(is_common)
    }

    /// Returns the directories whose whole trees the pattern covers.
    pub fn trees(&self) -> &[PathBuf] {
        &self.trees
    }

    /// Returns the paths that the pattern names exactly.
    pub fn single_paths(&self) -> &[PathBuf] {
        &self.single_paths
    }

    /// Whether the pattern covers a literal path inside the directory.
    pub fn has_path_below(&self, dir: &Path) -> bool {
        self.trees.iter().chain(&self.single_paths).any(|path| path.starts_with(dir))
    }
}

/// Whether a folded path is the tree's root or below it.
pub(crate) fn is_within(path: &Path, tree: &Path) -> bool {
    let (path, tree) = (path.as_os_str().as_bytes(), tree.as_os_str().as_bytes());
    let Some(rest) = path.strip_prefix(tree) else { return false };
    rest.is_empty() || tree.ends_with(b"/") || rest.starts_with(b"/")
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Expands a pattern into absolute patterns.
fn expand_variables(text: &str, places: &PathVariables) -> Result<Vec<String>, String> {
    let absent = |what: &str| format!("'{text}' requires {what}, which is not set");
    let join = |base: &Path, rest: &str| {
        let base = escape_glob(&base.to_string_lossy());
        match rest {
            "" if !text.ends_with('/') => base,
            rest => format!("{}/{rest}", base.trim_end_matches('/')),
        }
    };
    if text.is_empty() {
        return Err("An empty path matches nothing".to_owned());
    }
    if text.starts_with('!') {
        return Err(format!("'{text}': a pattern cannot be negated with '!'"));
    }
    if text.starts_with('$') && !text.starts_with("${") {
        return Err(format!(
            "'{text}': environment variables are not expanded; write ~ or \
            ${{home}}"
        ));
    }
    if let Some(rest) = text.strip_prefix("${") {
        let (name, rest) =
            rest.split_once('}').ok_or_else(|| format!("'{text}' has no closing brace"))?;
        let rest = rest.trim_start_matches('/');
        return match name {
            // Without a workspace, the pattern matches nothing.
            "workspace" => Ok(places.workspace.iter().map(|base| join(base, rest)).collect()),
            "home" => {
                let home = places.home.as_ref().ok_or_else(|| absent("a home directory"))?;
                Ok(vec![join(home, rest)])
            }
            "hermes" => Ok(vec![join(&places.hermes, rest)]),
            "tmp" => Ok(places.temp.iter().map(|base| join(base, rest)).collect()),
            other => Err(format!(
                "'{text}': unknown variable ${{{other}}}; use ${{workspace}}, ${{home}}, \
                 ${{hermes}} or ${{tmp}}"
            )),
        };
    }
    if let Some(rest) = text.strip_prefix('~') {
        if !rest.is_empty() && !rest.starts_with('/') {
            return Err(format!(
                "'{text}': the home directory of another user is not supported; \
                use ~ or an absolute path"
            ));
        }
        // Without a home directory, the pattern matches nothing.
        let rest = rest.trim_start_matches('/');
        return Ok(places.home.iter().map(|home| join(home, rest)).collect());
    }
    if text.starts_with('/') || text.starts_with("**/") {
        return Ok(vec![text.to_owned()]);
    }
    let rest = text.strip_prefix("./").unwrap_or(text);
    Ok(places.workspace.iter().map(|base| join(base, rest)).collect())
}

/// Removes empty and `.` components. A pattern that ends in a slash becomes a
/// tree.
fn normalize_pattern(pattern: &str) -> String {
    let parts: Vec<&str> =
        pattern.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let root = if pattern.starts_with('/') { "/" } else { "" };
    let tree = if pattern.ends_with('/') { "/**" } else { "" };
    format!("{root}{}{tree}", parts.join("/")).replace("//", "/")
}

/// Returns the pattern as written, and with symlinks in its literal prefix
/// resolved.
fn link_forms(pattern: &str) -> Result<Vec<String>, String> {
    let mut forms = vec![pattern.to_owned()];
    let parts: Vec<&str> = pattern.split('/').collect();
    let fixed = parts.iter().take_while(|part| literal_path(part).is_some()).count();
    let (fixed, rest) = parts.split_at(fixed);
    if rest.contains(&"..") {
        return Err(format!("'{pattern}': '..' cannot follow a wildcard"));
    }
    let written = fixed.iter().filter_map(|part| literal_path(part));
    let written = Path::new("/").join(written.collect::<PathBuf>());
    if pattern.starts_with('/')
        && let Ok(real) = hermes_files::real_path(&written)
        && real != written
    {
        let real = escape_glob(&real.to_string_lossy());
        let parts = [&[real.trim_end_matches('/')], rest].concat();
        forms.push(if rest.is_empty() { real } else { parts.join("/") });
    }
    Ok(forms)
}

/// Returns the pattern that matches exactly this text.
pub(crate) fn escape_glob(text: &str) -> String {
    globset::escape(text).replace('\\', "\\\\")
}

/// Returns the path of a pattern without wildcards.
pub(crate) fn literal_path(pattern: &str) -> Option<PathBuf> {
    let mut text = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..)?;
        match c {
            // An escaped character, as written by [`escape_glob`].
            '[' => {
                let letter = rest.chars().next().filter(|c| "*?[]{}".contains(*c))?;
                rest = rest.get(1..)?.strip_prefix(']')?;
                text.push(letter);
            }
            '\\' => {
                let letter = rest.chars().next()?;
                rest = rest.get(letter.len_utf8()..)?;
                text.push(letter);
            }
            '*' | '?' | ']' | '{' | '}' => return None,
            c => text.push(c),
        }
    }
    Some(PathBuf::from(if pattern.is_empty() { "/".to_owned() } else { text }))
}

fn compile_globs(pattern: &str, spelling: SpellingMode) -> Result<Vec<LazyGlob>, String> {
    let build = |text: &str| {
        GlobBuilder::new(text)
            .literal_separator(true)
            .case_insensitive(spelling == SpellingMode::Loose)
            .build()
            .map(|glob| LazyGlob { glob, compiled: OnceLock::new() })
            .map_err(|error| format!("'{text}' is not a valid path pattern: {}", error.kind()))
    };
    let loose =
        if spelling == SpellingMode::Loose { fold_text(pattern) } else { pattern.to_owned() };
    let mut matchers = vec![build(&loose)?];
    // A tree includes its own root.
    if let Some(root) = loose.strip_suffix("/**") {
        matchers.push(build(if root.is_empty() { "/" } else { root })?);
    } else if spelling == SpellingMode::Loose {
        // Denying a directory denies its contents.
        matchers.push(build(&format!("{loose}/**"))?);
    }
    Ok(matchers)
}

/// Folds a path for comparison by rules that deny: normalized characters, lower
/// case, no trailing dots or spaces in a component.
pub fn fold_path(path: &Path) -> Cow<'_, Path> {
    let bytes = path.as_os_str().as_bytes();
    let is_small = |b: &u8| b.is_ascii() && !b.is_ascii_uppercase();
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    let trails = |byte: &u8, next: &u8| ((*byte == b'.') | (*byte == b' ')) & (*next == b'/');
    let is_plain = bytes.iter().fold(true, |plain, b| plain & is_small(b))
        && !matches!(bytes, [.., b'.' | b' '])
        && !pairs.fold(false, |any, (byte, next)| any | trails(byte, next));
    if is_plain {
        return Cow::Borrowed(path);
    }
    let text = path.to_string_lossy();
    let folded = fold_text(&text);
    let parts = folded.split('/').map(|part| {
        let trimmed = part.trim_end_matches(['.', ' ']);
        if trimmed.is_empty() { part } else { trimmed }
    });
    Cow::Owned(PathBuf::from(parts.collect::<Vec<_>>().join("/")))
}

pub(crate) fn fold_text(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let visible = text.nfkc().filter(|c| !is_invisible(*c));
    visible.flat_map(char::to_lowercase).collect()
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A glob over names of tables, hosts, secrets or parameter values.
#[derive(Debug, Clone)]
pub struct NamePattern {
    written: String,
    matcher: GlobMatcher,
}

impl NamePattern {
    /// Parses a pattern.
    pub fn parse(text: &str) -> Result<Self, String> {
        let matcher = GlobBuilder::new(text)
            .case_insensitive(true)
            .build()
            .map_err(|error| format!("'{text}' is not a valid pattern: {}", error.kind()))?
            .compile_matcher();
        Ok(Self { written: text.to_owned(), matcher })
    }

    /// Whether the pattern matches the name.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
