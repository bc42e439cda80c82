//! `hermes_permissions.yaml`: from text to profiles.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hermes_config::ConfigDocument;
use hermes_shell::CommandPattern;

use crate::error::PolicyError;
use crate::level::{Answer, Level, Origin, Restriction, Rule, Selectors};
use crate::pattern::{NamePattern, PathPattern, Places, ScopePattern, Spelling};
use crate::profile::{AfterUntrusted, ParameterRule, Profile, ToolLevel};
use crate::reader::Node;
use crate::wishes::SandboxWishes;

const TOP: &[&str] = &["profiles", "global"];
const PROFILE: &[&str] = &[
    "description",
    "extends",
    "allow",
    "deny",
    "approval_required",
    "approved",
    "restrictions",
    "tools",
    "after_untrusted",
    "sensitive_paths",
    "sandbox",
];
const TOOL: &[&str] = &["allow", "deny", "approval_required", "restrictions", "parameters"];
const RULE: &[&str] = &["scope", "paths", "commands", "hosts", "names", "reason", "examples"];
const RESTRICTION: &[&str] = &[
    "allowed_paths",
    "denied_paths",
    "approval_paths",
    "allowed_commands",
    "denied_commands",
    "approval_commands",
    "allowed_hosts",
    "denied_hosts",
    "approval_hosts",
    "allowed_names",
    "denied_names",
    "approval_names",
    "elsewhere",
    "private_hosts",
    "dangerous",
    "examples",
];
const PARAMETER: &[&str] = &["allowed", "denied", "approval", "min", "max"];
const UNTRUSTED: &[&str] = &["allow", "deny", "approval_required", "restrictions", "new_hosts"];
const EXAMPLES: &[&str] = &["allow", "deny", "ask"];

/// How deep profiles may extend one another.
const MAX_EXTENDS: usize = 16;

/// A call that a rule's author expects to be judged in a certain way.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The profile that must judge it so; none for the rules of all profiles.
    pub profile: Option<String>,
    /// The scope.
    pub scope: ScopePattern,
    /// The command, path, host or name.
    pub resource: String,
    /// The expected answer.
    pub answer: Answer,
    /// Where it was written.
    pub place: Option<hermes_config::FilePosition>,
}

/// Everything that one file says.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// The profiles, in their order.
    pub profiles: Vec<Profile>,
    /// What holds for all profiles.
    pub global: Option<Profile>,
    /// What the rules' authors expect.
    pub expectations: Vec<Expectation>,
    extends: BTreeMap<String, (String, Option<hermes_config::FilePosition>)>,
}

impl File {
    /// The profiles that are built in.
    pub fn builtin(places: &Places) -> Result<Self, PolicyError> {
        let document = ConfigDocument::parse("built-in profiles", include_str!("builtin.yaml"))?;
        Reader { places, file: Self::default(), builtin: true }.read(&document)
    }

    /// Reads a file. One that is not there says nothing.
    pub fn load(path: &Path, places: &Places) -> Result<Self, PolicyError> {
        Reader { places, file: Self::default(), builtin: false }.read(&ConfigDocument::load(path)?)
    }

    /// Reads a text.
    pub fn parse(name: &str, text: &str, places: &Places) -> Result<Self, PolicyError> {
        Reader { places, file: Self::default(), builtin: false }.read(&ConfigDocument::parse(name, text)?)
    }

    /// The profile of that name, with what it extends under it.
    pub fn resolve(&self, name: &str, base: Option<&File>) -> Result<Option<Profile>, PolicyError> {
        self.resolve_at(name, base, 0)
    }

    fn resolve_at(
        &self,
        name: &str,
        base: Option<&File>,
        depth: usize,
    ) -> Result<Option<Profile>, PolicyError> {
        let Some(own) = self.profiles.iter().find(|profile| profile.name == name) else {
            return base.map_or(Ok(None), |base| base.resolve_at(name, None, depth + 1));
        };
        let Some((parent, place)) = self.extends.get(name) else {
            return Ok(Some(own.clone()));
        };
        if depth >= MAX_EXTENDS {
            return Err(
                PolicyError::new("These profiles extend one another in a circle").at(place.clone())
            );
        }
        // A profile may extend the built-in one of its own name.
        let below = if parent == name {
            base.map_or(Ok(None), |base| base.resolve_at(parent, None, depth + 1))?
        } else {
            self.resolve_at(parent, base, depth + 1)?
        };
        let below = below.ok_or_else(|| {
            let own = self.profiles.iter().map(|profile| profile.name.as_str());
            let builtin = base.iter().flat_map(|base| &base.profiles).map(|p| p.name.as_str());
            // It cannot be what it extends itself.
            let others = own.chain(builtin).filter(|other| *other != name);
            let near = hermes_core::similar::nearest(parent, others, 0.6);
            let meant = near.map_or_else(
                || "`hermes permissions profiles` lists them".to_owned(),
                |near| format!("did you mean '{near}'?"),
            );
            PolicyError::new(format!("There is no profile '{parent}' to extend; {meant}"))
                .at(place.clone())
        })?;
        Ok(Some(own.clone().on_top_of(below)))
    }
}

struct Reader<'a> {
    places: &'a Places,
    file: File,
    builtin: bool,
}

impl Reader<'_> {
    fn read(mut self, document: &ConfigDocument) -> Result<File, PolicyError> {
        for (key, node) in Node::root(document, self.builtin).entries()? {
            match key.as_str() {
                "profiles" => {
                    for (name, node) in node.entries()? {
                        let profile = self.profile(&name, &node, Some(&name))?;
                        self.file.profiles.push(profile);
                    }
                }
                "global" => self.file.global = Some(self.profile("global rules", &node, None)?),
                _ => return Err(node.unknown(TOP)),
            }
        }
        Ok(self.file)
    }

    fn profile(
        &mut self,
        name: &str,
        node: &Node<'_>,
        own: Option<&str>,
    ) -> Result<Profile, PolicyError> {
        node.refuse_missing()?;
        let title = own.map_or_else(|| name.to_owned(), |name| format!("profile {name}"));
        let level = Level { name: title, place: node.place(), ..Level::default() };
        let mut profile = Profile { name: name.to_owned(), level, ..Profile::default() };
        for (key, node) in node.entries()? {
            match key.as_str() {
                "description" => profile.description = Some(node.text()?.to_owned()),
                "extends" if own.is_some() => {
                    let parent = node.text()?.to_owned();
                    self.file.extends.insert(name.to_owned(), (parent, node.place()));
                }
                "tools" => {
                    node.refuse_missing()?;
                    for (tool, node) in node.entries()? {
                        let level = self.tool(&tool, &node, own)?;
                        profile.tools.push(level);
                    }
                }
                "after_untrusted" => {
                    profile.after_untrusted = Some(self.after_untrusted(&node, own)?);
                }
                "sensitive_paths" => {
                    profile.sensitive_paths = self.paths(&node, Spelling::Exact)?;
                    for item in node.items()? {
                        if item.text()?.trim_start_matches('/').starts_with('*') {
                            return Err(item.wrong(
                                "This would lay every secret open; name the file or its folder",
                            ));
                        }
                    }
                }
                "approved" if own.is_some() => {
                    profile.level.approved = self.rules(&profile.level, "approved", &node, own)?;
                }
                "sandbox" => {
                    profile.wishes = SandboxWishes::read(&node)?;
                    profile.sandbox = profile.wishes.settings();
                    profile.sockets = self.sockets(&node, own)?;
                }
                "approved" | "extends" => {
                    return Err(
                        node.wrong("only a profile can have this; rules for all can only narrow")
                    );
                }
                _ if self.part(&mut profile.level, &key, &node, own)? => {}
                _ => return Err(node.unknown(PROFILE)),
            }
        }
        Ok(profile)
    }

    /// The keys that every level has; whether this was one of them.
    fn part(
        &mut self,
        level: &mut Level,
        key: &str,
        node: &Node<'_>,
        own: Option<&str>,
    ) -> Result<bool, PolicyError> {
        match key {
            "allow" => level.allow = Some(self.rules(level, "allow", node, own)?),
            "deny" => level.deny = self.rules(level, "deny", node, own)?,
            "approval_required" => level.ask = self.rules(level, "approval_required", node, own)?,
            "restrictions" => {
                node.refuse_missing()?;
                for (scope, node) in node.entries()? {
                    let restriction = self.restriction(level, &scope, &node, own)?;
                    level.restrictions.push(restriction);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn tool(
        &mut self,
        tool: &str,
        node: &Node<'_>,
        own: Option<&str>,
    ) -> Result<ToolLevel, PolicyError> {
        let name =
            own.map_or_else(|| format!("tool {tool}"), |own| format!("profile {own}, tool {tool}"));
        let level = Level { name: name.clone(), place: node.place(), ..Level::default() };
        let pattern = NamePattern::parse(tool).map_err(|problem| node.wrong(problem))?;
        let mut tool = ToolLevel { tool: pattern, level, ask: None, parameters: Vec::new() };
        node.refuse_missing()?;
        for (key, node) in node.entries()? {
            match key.as_str() {
                "approval_required" if node.flag().is_ok() => {
                    if node.flag()? {
                        let rule = format!("{name}: approval_required");
                        tool.ask = Some(Arc::new(Origin { rule, place: node.place() }));
                    }
                }
                "parameters" => {
                    node.refuse_missing()?;
                    for (parameter, node) in node.entries()? {
                        tool.parameters.push(parameter_rule(&name, &parameter, &node)?);
                    }
                }
                _ if self.part(&mut tool.level, &key, &node, own)? => {}
                _ => return Err(node.unknown(TOOL)),
            }
        }
        Ok(tool)
    }

    fn after_untrusted(
        &mut self,
        node: &Node<'_>,
        own: Option<&str>,
    ) -> Result<AfterUntrusted, PolicyError> {
        let name = format!("{}, after untrusted content", own.unwrap_or("global rules"));
        let origin = Origin { rule: format!("{name}: new_hosts"), place: node.place() };
        let level = Level { name, place: node.place(), ..Level::default() };
        node.refuse_missing()?;
        let mut after = AfterUntrusted { level, new_hosts: None, origin: Arc::new(origin) };
        for (key, node) in node.entries()? {
            match key.as_str() {
                "new_hosts" => after.new_hosts = Some(node.answer()?),
                _ if self.part(&mut after.level, &key, &node, own)? => {}
                _ => return Err(node.unknown(UNTRUSTED)),
            }
        }
        Ok(after)
    }

    fn rules(
        &mut self,
        level: &Level,
        list: &str,
        node: &Node<'_>,
        own: Option<&str>,
    ) -> Result<Vec<Rule>, PolicyError> {
        node.refuse_missing()?;
        node.items()?.iter().map(|item| self.rule(level, list, item, own)).collect()
    }

    fn rule(
        &mut self,
        level: &Level,
        list: &str,
        node: &Node<'_>,
        own: Option<&str>,
    ) -> Result<Rule, PolicyError> {
        let parse = |node: &Node<'_>| {
            ScopePattern::parse(node.text()?).map_err(|problem| node.wrong(problem))
        };
        let named = |scope: &ScopePattern, what: &str| {
            let rule = format!("{}: {list} {}{what}", level.name, scope.as_str());
            Arc::new(Origin { rule, place: node.place() })
        };
        if !node.is_map() {
            let scope = parse(node)?;
            let origin = named(&scope, "");
            return Ok(Rule { scope, selectors: None, reason: None, origin });
        }
        let mut scope = None;
        let (mut selectors, mut reason, mut examples) = (Selectors::default(), None, None);
        let mut what = String::new();
        let spelling =
            if matches!(list, "allow" | "approved") { Spelling::Exact } else { Spelling::Loose };
        for (key, node) in node.entries()? {
            match key.as_str() {
                "scope" => scope = Some(parse(&node)?),
                "paths" => selectors.paths = self.paths(&node, spelling)?,
                "commands" => selectors.commands = commands(&node)?,
                "hosts" => selectors.hosts = hosts(&node)?,
                "names" => selectors.names = names(&node)?,
                "reason" => reason = Some(node.text()?.to_owned()),
                "examples" => examples = Some(node.clone()),
                _ => return Err(node.unknown(RULE)),
            }
            if matches!(key.as_str(), "paths" | "commands" | "hosts" | "names") {
                node.refuse_empty()?;
                let all =
                    node.items()?.iter().map(Node::loose_text).collect::<Result<Vec<_>, _>>()?;
                what = format!("{what} {}", all.join(", "));
            }
        }
        let scope = scope.ok_or_else(|| {
            node.wrong("a rule needs a scope")
                .hint("For example: {scope: file:write, paths: [docs/**]}")
        })?;
        if let Some(examples) = examples {
            self.expect(&scope, &examples, own)?;
        }
        for (key, node) in node.entries()? {
            require_sense(&scope, &key, &node)?;
        }
        let origin = named(&scope, &what);
        let selectors = (!selectors.is_empty()).then_some(selectors);
        Ok(Rule { scope, selectors, reason, origin })
    }

    fn restriction(
        &mut self,
        level: &Level,
        scope: &str,
        node: &Node<'_>,
        own: Option<&str>,
    ) -> Result<Restriction, PolicyError> {
        node.refuse_missing()?;
        let pattern = ScopePattern::parse(scope)
            .map_err(|problem| PolicyError::new(problem).at(node.place()))?;
        let rule = format!("{}: restrictions of {scope}", level.name);
        let mut restriction = Restriction {
            scope: pattern,
            allowed: None,
            denied: Selectors::default(),
            asked: Selectors::default(),
            elsewhere: Answer::Deny,
            says_elsewhere: false,
            private_hosts: None,
            dangerous: None,
            origin: Arc::new(Origin { rule, place: node.place() }),
        };
        let lists = node.entries()?.iter().any(|(key, _)| key.starts_with("allowed_"));
        for (key, node) in node.entries()? {
            match key.as_str() {
                "elsewhere" => {
                    restriction.elsewhere = node.answer()?;
                    restriction.says_elsewhere = true;
                }
                "private_hosts" => restriction.private_hosts = Some(node.answer()?),
                "dangerous" => restriction.dangerous = Some(node.answer()?),
                "examples" => self.expect(&restriction.scope, &node, own)?,
                _ => self.restriction_list(&mut restriction, &key, &node)?,
            }
            // Under a wildcard there is no list of another profile's that it could be about.
            if key == "elsewhere" && scope.contains('*') && !lists {
                return Err(node
                    .wrong("there is no list of what is allowed here")
                    .hint("Name the scope itself, or give allowed_paths, allowed_hosts, …"));
            }
        }
        Ok(restriction)
    }

    fn restriction_list(
        &self,
        restriction: &mut Restriction,
        key: &str,
        node: &Node<'_>,
    ) -> Result<(), PolicyError> {
        node.refuse_missing()?;
        let (list, spelling) = match key.split_once('_') {
            Some(("allowed", _)) => {
                node.refuse_empty()?;
                (restriction.allowed.get_or_insert_default(), Spelling::Exact)
            }
            Some(("denied", _)) => (&mut restriction.denied, Spelling::Loose),
            Some(("approval", _)) => (&mut restriction.asked, Spelling::Loose),
            _ => return Err(node.unknown(RESTRICTION)),
        };
        if let Some((_, kind)) = key.split_once('_') {
            require_sense(&restriction.scope, kind, node)?;
        }
        match key.split_once('_').map(|(_, kind)| kind) {
            Some("paths") => list.paths = self.paths(node, spelling)?,
            Some("commands") => list.commands = commands(node)?,
            Some("hosts") => list.hosts = hosts(node)?,
            Some("names") => list.names = names(node)?,
            _ => return Err(node.unknown(RESTRICTION)),
        }
        Ok(())
    }

    fn expect(
        &mut self,
        scope: &ScopePattern,
        node: &Node<'_>,
        own: Option<&str>,
    ) -> Result<(), PolicyError> {
        for (key, node) in node.entries()? {
            if !EXAMPLES.contains(&key.as_str()) {
                return Err(node.unknown(EXAMPLES));
            }
            let answer = node.answer_named(&key)?;
            for item in node.items()? {
                self.file.expectations.push(Expectation {
                    profile: own.map(str::to_owned),
                    scope: scope.clone(),
                    resource: item.loose_text()?,
                    answer,
                    place: item.place(),
                });
            }
        }
        Ok(())
    }

    /// The sockets in the part about the sandbox. Each is named: a folder in
    /// which everybody puts theirs is no name.
    fn sockets(&self, node: &Node<'_>, own: Option<&str>) -> Result<Vec<PathPattern>, PolicyError> {
        let entries = node.entries()?;
        let Some((_, node)) = entries.iter().find(|(key, _)| key == "sockets") else {
            return Ok(Vec::new());
        };
        if own.is_none() {
            return Err(node.wrong("only a profile can have this; rules for all can only narrow"));
        }
        let sockets = self.paths(node, Spelling::Exact)?;
        for (pattern, item) in sockets.iter().zip(node.items()?) {
            if !pattern.names_sockets(self.places) {
                return Err(item
                    .wrong("This does not name the sockets of one service")
                    .hint("Name the socket, or a folder of its own: /run/postgresql/**."));
            }
        }
        Ok(sockets)
    }

    fn paths(&self, node: &Node<'_>, spelling: Spelling) -> Result<Vec<PathPattern>, PolicyError> {
        let parse = |item: &Node<'_>| {
            PathPattern::parse(item.text()?, self.places, spelling)
                .map_err(|problem| item.wrong(problem))
        };
        node.items()?.iter().map(parse).collect()
    }
}

impl Node<'_> {
    fn answer_named(&self, name: &str) -> Result<Answer, PolicyError> {
        match name {
            "allow" => Ok(Answer::Allow),
            "ask" => Ok(Answer::Ask),
            "deny" => Ok(Answer::Deny),
            _ => Err(self.unknown(EXAMPLES)),
        }
    }
}

/// A rule about resources that the scope does not have would never match, and
/// look as if it did.
fn require_sense(scope: &ScopePattern, kind: &str, node: &Node<'_>) -> Result<(), PolicyError> {
    let family = scope.as_str().split(':').next().unwrap_or_default();
    let has: &[&str] = match family {
        "*" => return Ok(()),
        "file" | "git" => &["paths", "commands"],
        "terminal" => &["commands"],
        "network" | "browser" => &["hosts", "names", "commands"],
        _ => &["names", "hosts", "commands"],
    };
    let is_selector = matches!(kind, "paths" | "commands" | "hosts" | "names");
    if !is_selector || has.contains(&kind) {
        return Ok(());
    }
    let first = has.first().copied().unwrap_or_default();
    Err(node.wrong(format!("{} has no {kind}", scope.as_str())).hint(format!("Use {first} there.")))
}

fn commands(node: &Node<'_>) -> Result<Vec<CommandPattern>, PolicyError> {
    let parse = |item: &Node<'_>| {
        CommandPattern::parse(&item.loose_text()?).map_err(|problem| item.wrong(problem))
    };
    node.items()?.iter().map(parse).collect()
}

/// Names of hosts. An address with a path in it would never match.
fn hosts(node: &Node<'_>) -> Result<Vec<NamePattern>, PolicyError> {
    for item in node.items()? {
        let text = item.loose_text()?;
        if text.contains('/') || text.contains(char::is_whitespace) {
            let host = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
            let host = host.split('/').next().unwrap_or_default();
            return Err(item
                .wrong(format!("'{text}' is not the name of a host"))
                .hint(format!("Name the host alone: {host}")));
        }
    }
    names(node)
}

fn names(node: &Node<'_>) -> Result<Vec<NamePattern>, PolicyError> {
    let parse = |item: &Node<'_>| {
        NamePattern::parse(&item.loose_text()?).map_err(|problem| item.wrong(problem))
    };
    node.items()?.iter().map(parse).collect()
}

fn parameter_rule(
    tool: &str,
    parameter: &str,
    node: &Node<'_>,
) -> Result<ParameterRule, PolicyError> {
    let origin = Origin { rule: format!("{tool}, parameter {parameter}"), place: node.place() };
    let mut rule = ParameterRule {
        name: parameter.to_owned(),
        allowed: Vec::new(),
        denied: Vec::new(),
        asked: Vec::new(),
        min: None,
        max: None,
        origin: Arc::new(origin),
    };
    node.refuse_missing()?;
    for (key, node) in node.entries()? {
        node.refuse_missing()?;
        match key.as_str() {
            "allowed" => {
                node.refuse_empty()?;
                rule.allowed = names(&node)?;
            }
            "denied" => rule.denied = names(&node)?,
            "approval" => rule.asked = names(&node)?,
            "min" => rule.min = Some(node.number()?),
            "max" => rule.max = Some(node.number()?),
            _ => return Err(node.unknown(PARAMETER)),
        }
    }
    if let (Some(min), Some(max)) = (rule.min, rule.max)
        && min > max
    {
        return Err(node.wrong(format!("no number is at least {min} and at most {max}")));
    }
    Ok(rule)
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
