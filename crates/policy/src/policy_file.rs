//! Parses `hermes_permissions.yaml` into profiles.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hermes_config::ConfigDocument;
use hermes_shell::CommandPattern;

use crate::config_node::ConfigNode;
use crate::error::PolicyError;
use crate::level::{
    PolicyAnswer, PolicyLevel, PolicyRule, ResourceSelectors, RuleOrigin, ScopeRestriction,
};
use crate::pattern::{NamePattern, PathPattern, PathVariables, ScopePattern, SpellingMode};
use crate::profile::{AfterUntrustedRules, ParameterRule, PermissionProfile, ToolLevel};
use crate::sandbox_overrides::SandboxOverrides;

const TOP_KEYS: &[&str] = &["profiles", "global"];
const PROFILE_KEYS: &[&str] = &[
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
const TOOL_KEYS: &[&str] = &["allow", "deny", "approval_required", "restrictions", "parameters"];
const RULE_KEYS: &[&str] = &["scope", "paths", "commands", "hosts", "names", "reason", "examples"];
const RESTRICTION_KEYS: &[&str] = &[
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
const PARAMETER_KEYS: &[&str] = &["allowed", "denied", "approval", "min", "max"];
const UNTRUSTED_KEYS: &[&str] =
    &["allow", "deny", "approval_required", "restrictions", "new_hosts"];
const EXAMPLE_KEYS: &[&str] = &["allow", "deny", "ask"];

/// Maximum length of a chain of `extends`.
const MAX_EXTENDS_DEPTH: usize = 16;

/// A call with the answer that the rule's author expects.
#[derive(Debug, Clone)]
pub struct RuleExpectation {
    /// Profile that must give this answer; `None` for the global rules.
    pub profile: Option<String>,
    /// Scope of the effect.
    pub scope: ScopePattern,
    /// The command, path, host or name.
    pub resource: String,
    /// The expected answer.
    pub answer: PolicyAnswer,
    /// Where the expectation is defined.
    pub place: Option<hermes_config::FilePosition>,
}

/// Contents of a permission file.
#[derive(Debug, Clone, Default)]
pub struct PolicyFile {
    /// The profiles, in file order.
    pub profiles: Vec<PermissionProfile>,
    /// Rules for all profiles.
    pub global: Option<PermissionProfile>,
    /// Expected answers from `examples`.
    pub expectations: Vec<RuleExpectation>,
    extends: BTreeMap<String, (String, Option<hermes_config::FilePosition>)>,
}

impl PolicyFile {
    /// Returns the built-in profiles.
    pub fn builtin(places: &PathVariables) -> Result<Self, PolicyError> {
        let document = ConfigDocument::parse("built-in profiles", include_str!("builtin.yaml"))?;
        PolicyReader { places, file: Self::default(), builtin: true }.read(&document)
    }

    /// Reads a file; a missing file is empty.
    pub fn load(path: &Path, places: &PathVariables) -> Result<Self, PolicyError> {
        PolicyReader { places, file: Self::default(), builtin: false }
            .read(&ConfigDocument::load(path)?)
    }

    /// Parses a text.
    pub fn parse(name: &str, text: &str, places: &PathVariables) -> Result<Self, PolicyError> {
        PolicyReader { places, file: Self::default(), builtin: false }
            .read(&ConfigDocument::parse(name, text)?)
    }

    /// Returns the profile of that name, merged with what it extends.
    pub fn resolve(
        &self,
        name: &str,
        base: Option<&PolicyFile>,
    ) -> Result<Option<PermissionProfile>, PolicyError> {
        self.resolve_at(name, base, 0)
    }

    fn resolve_at(
        &self,
        name: &str,
        base: Option<&PolicyFile>,
        depth: usize,
    ) -> Result<Option<PermissionProfile>, PolicyError> {
        let Some(own) = self.profiles.iter().find(|profile| profile.name == name) else {
            return base.map_or(Ok(None), |base| base.resolve_at(name, None, depth + 1));
        };
        let Some((parent, place)) = self.extends.get(name) else {
            return Ok(Some(own.clone()));
        };
        if depth >= MAX_EXTENDS_DEPTH {
            return Err(
                PolicyError::new("These profiles extend one another in a cycle").at(place.clone())
            );
        }
        // A profile may extend the built-in profile of the same name.
        let below = if parent == name {
            base.map_or(Ok(None), |base| base.resolve_at(parent, None, depth + 1))?
        } else {
            self.resolve_at(parent, base, depth + 1)?
        };
        let below = below.ok_or_else(|| {
            let own = self.profiles.iter().map(|profile| profile.name.as_str());
            let builtin = base.iter().flat_map(|base| &base.profiles).map(|p| p.name.as_str());
            // Never suggest the profile itself.
            let others = own.chain(builtin).filter(|other| *other != name);
            let near = hermes_core::similar::nearest(parent, others, 0.6);
            let meant = near.map_or_else(
                || "`hermes permissions profiles` lists all profiles".to_owned(),
                |near| format!("did you mean '{near}'?"),
            );
            PolicyError::new(format!("There is no profile '{parent}' to extend; {meant}"))
                .at(place.clone())
        })?;
        Ok(Some(own.clone().extending(below)))
    }
}

struct PolicyReader<'a> {
    places: &'a PathVariables,
    file: PolicyFile,
    builtin: bool,
}

impl PolicyReader<'_> {
    fn read(mut self, document: &ConfigDocument) -> Result<PolicyFile, PolicyError> {
        for (key, node) in ConfigNode::root(document, self.builtin).entries()? {
            match key.as_str() {
                "profiles" => {
                    for (name, node) in node.entries()? {
                        let profile = self.read_profile(&name, &node, Some(&name))?;
                        self.file.profiles.push(profile);
                    }
                }
                "global" => {
                    self.file.global = Some(self.read_profile("global rules", &node, None)?)
                }
                _ => return Err(node.unknown_key_error(TOP_KEYS)),
            }
        }
        Ok(self.file)
    }

    fn read_profile(
        &mut self,
        name: &str,
        node: &ConfigNode<'_>,
        own: Option<&str>,
    ) -> Result<PermissionProfile, PolicyError> {
        node.refuse_missing()?;
        let title = own.map_or_else(|| name.to_owned(), |name| format!("profile {name}"));
        let level = PolicyLevel { name: title, place: node.place(), ..PolicyLevel::default() };
        let mut profile =
            PermissionProfile { name: name.to_owned(), level, ..PermissionProfile::default() };
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
                        let level = self.read_tool(&tool, &node, own)?;
                        profile.tools.push(level);
                    }
                }
                "after_untrusted" => {
                    profile.after_untrusted = Some(self.read_after_untrusted(&node, own)?);
                }
                "sensitive_paths" => {
                    profile.sensitive_paths = self.read_paths(&node, SpellingMode::Exact)?;
                    for item in node.items()? {
                        if item.text()?.trim_start_matches('/').starts_with('*') {
                            return Err(item.error(
                                "This would expose every secret; name the file or its directory",
                            ));
                        }
                    }
                }
                "approved" if own.is_some() => {
                    profile.level.approved =
                        self.read_rules(&profile.level, "approved", &node, own)?;
                }
                "sandbox" => {
                    profile.overrides = SandboxOverrides::read(&node)?;
                    profile.sandbox = profile.overrides.settings();
                    profile.sockets = self.read_sockets(&node, own)?;
                }
                "approved" | "extends" => {
                    return Err(
                        node.error("only a profile can set this; global rules can only narrow")
                    );
                }
                _ if self.read_level_key(&mut profile.level, &key, &node, own)? => {}
                _ => return Err(node.unknown_key_error(PROFILE_KEYS)),
            }
        }
        Ok(profile)
    }

    /// Reads a key that every level has; returns whether it was one.
    fn read_level_key(
        &mut self,
        level: &mut PolicyLevel,
        key: &str,
        node: &ConfigNode<'_>,
        own: Option<&str>,
    ) -> Result<bool, PolicyError> {
        match key {
            "allow" => level.allow = Some(self.read_rules(level, "allow", node, own)?),
            "deny" => level.deny = self.read_rules(level, "deny", node, own)?,
            "approval_required" => {
                level.ask = self.read_rules(level, "approval_required", node, own)?
            }
            "restrictions" => {
                node.refuse_missing()?;
                for (scope, node) in node.entries()? {
                    let restriction = self.read_restriction(level, &scope, &node, own)?;
                    level.restrictions.push(restriction);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn read_tool(
        &mut self,
        tool: &str,
        node: &ConfigNode<'_>,
        own: Option<&str>,
    ) -> Result<ToolLevel, PolicyError> {
        let name =
            own.map_or_else(|| format!("tool {tool}"), |own| format!("profile {own}, tool {tool}"));
        let level =
            PolicyLevel { name: name.clone(), place: node.place(), ..PolicyLevel::default() };
        let pattern = NamePattern::parse(tool).map_err(|problem| node.error(problem))?;
        let mut tool = ToolLevel { tool: pattern, level, ask: None, parameters: Vec::new() };
        node.refuse_missing()?;
        for (key, node) in node.entries()? {
            match key.as_str() {
                "approval_required" if node.flag().is_ok() => {
                    if node.flag()? {
                        let rule = format!("{name}: approval_required");
                        tool.ask = Some(Arc::new(RuleOrigin { rule, place: node.place() }));
                    }
                }
                "parameters" => {
                    node.refuse_missing()?;
                    for (parameter, node) in node.entries()? {
                        tool.parameters.push(read_parameter_rule(&name, &parameter, &node)?);
                    }
                }
                _ if self.read_level_key(&mut tool.level, &key, &node, own)? => {}
                _ => return Err(node.unknown_key_error(TOOL_KEYS)),
            }
        }
        Ok(tool)
    }

    fn read_after_untrusted(
        &mut self,
        node: &ConfigNode<'_>,
        own: Option<&str>,
    ) -> Result<AfterUntrustedRules, PolicyError> {
        let name = format!("{}, after untrusted content", own.unwrap_or("global rules"));
        let origin = RuleOrigin { rule: format!("{name}: new_hosts"), place: node.place() };
        let level = PolicyLevel { name, place: node.place(), ..PolicyLevel::default() };
        node.refuse_missing()?;
        let mut after = AfterUntrustedRules { level, new_hosts: None, origin: Arc::new(origin) };
        for (key, node) in node.entries()? {
            match key.as_str() {
                "new_hosts" => after.new_hosts = Some(node.answer()?),
                _ if self.read_level_key(&mut after.level, &key, &node, own)? => {}
                _ => return Err(node.unknown_key_error(UNTRUSTED_KEYS)),
            }
        }
        Ok(after)
    }

    fn read_rules(
        &mut self,
        level: &PolicyLevel,
        list: &str,
        node: &ConfigNode<'_>,
        own: Option<&str>,
    ) -> Result<Vec<PolicyRule>, PolicyError> {
        node.refuse_missing()?;
        node.items()?.iter().map(|item| self.read_rule(level, list, item, own)).collect()
    }

    fn read_rule(
        &mut self,
        level: &PolicyLevel,
        list: &str,
        node: &ConfigNode<'_>,
        own: Option<&str>,
    ) -> Result<PolicyRule, PolicyError> {
        let parse = |node: &ConfigNode<'_>| {
            ScopePattern::parse(node.text()?).map_err(|problem| node.error(problem))
        };
        let named = |scope: &ScopePattern, what: &str| {
            let rule = format!("{}: {list} {}{what}", level.name, scope.as_str());
            Arc::new(RuleOrigin { rule, place: node.place() })
        };
        if !node.is_map() {
            let scope = parse(node)?;
            let origin = named(&scope, "");
            return Ok(PolicyRule { scope, selectors: None, reason: None, origin });
        }
        let mut scope = None;
        let (mut selectors, mut reason, mut examples) = (ResourceSelectors::default(), None, None);
        let mut what = String::new();
        let spelling = if matches!(list, "allow" | "approved") {
            SpellingMode::Exact
        } else {
            SpellingMode::Loose
        };
        for (key, node) in node.entries()? {
            match key.as_str() {
                "scope" => scope = Some(parse(&node)?),
                "paths" => selectors.paths = self.read_paths(&node, spelling)?,
                "commands" => selectors.commands = read_commands(&node)?,
                "hosts" => selectors.hosts = read_hosts(&node)?,
                "names" => selectors.names = read_names(&node)?,
                "reason" => reason = Some(node.text()?.to_owned()),
                "examples" => examples = Some(node.clone()),
                _ => return Err(node.unknown_key_error(RULE_KEYS)),
            }
            if matches!(key.as_str(), "paths" | "commands" | "hosts" | "names") {
                node.refuse_empty()?;
                let all = node
                    .items()?
                    .iter()
                    .map(ConfigNode::any_text)
                    .collect::<Result<Vec<_>, _>>()?;
                what = format!("{what} {}", all.join(", "));
            }
        }
        let scope = scope.ok_or_else(|| {
            node.error("a rule requires a scope")
                .hint("For example: {scope: file:write, paths: [docs/**]}")
        })?;
        if let Some(examples) = examples {
            self.read_examples(&scope, &examples, own)?;
        }
        for (key, node) in node.entries()? {
            require_matching_scope(&scope, &key, &node)?;
        }
        let origin = named(&scope, &what);
        let selectors = (!selectors.is_empty()).then_some(selectors);
        Ok(PolicyRule { scope, selectors, reason, origin })
    }

    fn read_restriction(
        &mut self,
        level: &PolicyLevel,
        scope: &str,
        node: &ConfigNode<'_>,
        own: Option<&str>,
    ) -> Result<ScopeRestriction, PolicyError> {
        node.refuse_missing()?;
        let pattern = ScopePattern::parse(scope)
            .map_err(|problem| PolicyError::new(problem).at(node.place()))?;
        let rule = format!("{}: restrictions of {scope}", level.name);
        let mut restriction = ScopeRestriction {
            scope: pattern,
            allowed: None,
            denied: ResourceSelectors::default(),
            asked: ResourceSelectors::default(),
            default_answer: PolicyAnswer::Deny,
            has_default_answer: false,
            private_hosts: None,
            dangerous: None,
            origin: Arc::new(RuleOrigin { rule, place: node.place() }),
        };
        let lists = node.entries()?.iter().any(|(key, _)| key.starts_with("allowed_"));
        for (key, node) in node.entries()? {
            match key.as_str() {
                "elsewhere" => {
                    restriction.default_answer = node.answer()?;
                    restriction.has_default_answer = true;
                }
                "private_hosts" => restriction.private_hosts = Some(node.answer()?),
                "dangerous" => restriction.dangerous = Some(node.answer()?),
                "examples" => self.read_examples(&restriction.scope, &node, own)?,
                _ => self.read_restriction_list(&mut restriction, &key, &node)?,
            }
            // A wildcard scope cannot refer to the list of another profile.
            if key == "elsewhere" && scope.contains('*') && !lists {
                return Err(node
                    .error("there is no list of allowed resources here")
                    .hint("Name the scope itself, or add allowed_paths, allowed_hosts, …"));
            }
        }
        Ok(restriction)
    }

    fn read_restriction_list(
        &self,
        restriction: &mut ScopeRestriction,
        key: &str,
        node: &ConfigNode<'_>,
    ) -> Result<(), PolicyError> {
        node.refuse_missing()?;
        let (list, spelling) = match key.split_once('_') {
            Some(("allowed", _)) => {
                node.refuse_empty()?;
                (restriction.allowed.get_or_insert_default(), SpellingMode::Exact)
            }
            Some(("denied", _)) => (&mut restriction.denied, SpellingMode::Loose),
            Some(("approval", _)) => (&mut restriction.asked, SpellingMode::Loose),
            _ => return Err(node.unknown_key_error(RESTRICTION_KEYS)),
        };
        if let Some((_, kind)) = key.split_once('_') {
            require_matching_scope(&restriction.scope, kind, node)?;
        }
        match key.split_once('_').map(|(_, kind)| kind) {
            Some("paths") => list.paths = self.read_paths(node, spelling)?,
            Some("commands") => list.commands = read_commands(node)?,
            Some("hosts") => list.hosts = read_hosts(node)?,
            Some("names") => list.names = read_names(node)?,
            _ => return Err(node.unknown_key_error(RESTRICTION_KEYS)),
        }
        Ok(())
    }

    fn read_examples(
        &mut self,
        scope: &ScopePattern,
        node: &ConfigNode<'_>,
        own: Option<&str>,
    ) -> Result<(), PolicyError> {
        for (key, node) in node.entries()? {
            if !EXAMPLE_KEYS.contains(&key.as_str()) {
                return Err(node.unknown_key_error(EXAMPLE_KEYS));
            }
            let answer = node.answer_named(&key)?;
            for item in node.items()? {
                self.file.expectations.push(RuleExpectation {
                    profile: own.map(str::to_owned),
                    scope: scope.clone(),
                    resource: item.any_text()?,
                    answer,
                    place: item.place(),
                });
            }
        }
        Ok(())
    }

    /// Reads the sockets of the sandbox section. Each must be named: a
    /// directory shared by many services is not enough.
    fn read_sockets(
        &self,
        node: &ConfigNode<'_>,
        own: Option<&str>,
    ) -> Result<Vec<PathPattern>, PolicyError> {
        let entries = node.entries()?;
        let Some((_, node)) = entries.iter().find(|(key, _)| key == "sockets") else {
            return Ok(Vec::new());
        };
        if own.is_none() {
            return Err(node.error("only a profile can set this; global rules can only narrow"));
        }
        let sockets = self.read_paths(node, SpellingMode::Exact)?;
        for (pattern, item) in sockets.iter().zip(node.items()?) {
            if !pattern.names_sockets(self.places) {
                return Err(item.error("This does not name the sockets of a single service").hint(
                    "Name the socket, or a directory with only this service's sockets: \
                        /run/postgresql/**.",
                ));
            }
        }
        Ok(sockets)
    }

    fn read_paths(
        &self,
        node: &ConfigNode<'_>,
        spelling: SpellingMode,
    ) -> Result<Vec<PathPattern>, PolicyError> {
        let parse = |item: &ConfigNode<'_>| {
            PathPattern::parse(item.text()?, self.places, spelling)
                .map_err(|problem| item.error(problem))
        };
        node.items()?.iter().map(parse).collect()
    }
}

impl ConfigNode<'_> {
    fn answer_named(&self, name: &str) -> Result<PolicyAnswer, PolicyError> {
        match name {
            "allow" => Ok(PolicyAnswer::Allow),
            "ask" => Ok(PolicyAnswer::Ask),
            "deny" => Ok(PolicyAnswer::Deny),
            _ => Err(self.unknown_key_error(EXAMPLE_KEYS)),
        }
    }
}

/// Rejects selectors for resources that the scope does not have: the rule would
/// never match but look effective.
fn require_matching_scope(
    scope: &ScopePattern,
    kind: &str,
    node: &ConfigNode<'_>,
) -> Result<(), PolicyError> {
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
    Err(node.error(format!("{} has no {kind}", scope.as_str())).hint(format!("Use {first} there.")))
}

fn read_commands(node: &ConfigNode<'_>) -> Result<Vec<CommandPattern>, PolicyError> {
    let parse = |item: &ConfigNode<'_>| {
        CommandPattern::parse(&item.any_text()?).map_err(|problem| item.error(problem))
    };
    node.items()?.iter().map(parse).collect()
}

/// Reads host names. A URL with a path would never match.
fn read_hosts(node: &ConfigNode<'_>) -> Result<Vec<NamePattern>, PolicyError> {
    for item in node.items()? {
        let text = item.any_text()?;
        if text.contains('/') || text.contains(char::is_whitespace) {
            let host = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
            let host = host.split('/').next().unwrap_or_default();
            return Err(item
                .error(format!("'{text}' is not a host name"))
                .hint(format!("Use only the host: {host}")));
        }
    }
    read_names(node)
}

fn read_names(node: &ConfigNode<'_>) -> Result<Vec<NamePattern>, PolicyError> {
    let parse = |item: &ConfigNode<'_>| {
        NamePattern::parse(&item.any_text()?).map_err(|problem| item.error(problem))
    };
    node.items()?.iter().map(parse).collect()
}

fn read_parameter_rule(
    tool: &str,
    parameter: &str,
    node: &ConfigNode<'_>,
) -> Result<ParameterRule, PolicyError> {
    let origin = RuleOrigin { rule: format!("{tool}, parameter {parameter}"), place: node.place() };
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
                rule.allowed = read_names(&node)?;
            }
            "denied" => rule.denied = read_names(&node)?,
            "approval" => rule.asked = read_names(&node)?,
            "min" => rule.min = Some(node.number()?),
            "max" => rule.max = Some(node.number()?),
            _ => return Err(node.unknown_key_error(PARAMETER_KEYS)),
        }
    }
    if let (Some(min), Some(max)) = (rule.min, rule.max)
        && min > max
    {
        return Err(node.error(format!("min {min} is greater than max {max}")));
    }
    Ok(rule)
}

#[cfg(test)]
#[path = "policy_file_tests.rs"]
mod tests;
