//! Loads profiles: built in, from the user's file, and from the project's file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use hermes_core::{
    CallProposal, Effect, MemorySessionStore, NetworkMode, Resource, Scope, Session, WorkingDir,
};
use std::sync::Arc;

use crate::approvals::{SavedRules, TicketStore};
use crate::error::PolicyError;
use crate::level::{PolicyAnswer, PolicyLevel, ScopeRestriction};
use crate::pattern::PathVariables;
use crate::permissions::{EnforcementSettings, PermissionPolicy};
use crate::policy_file::{PolicyFile, RuleExpectation};
use crate::profile::{ParameterRule, PermissionProfile};
use crate::sandbox_overrides::SandboxOverrides;

/// Name prefix of tools from MCP servers.
const MCP_TOOL_PREFIX: &str = "mcp__";

/// The files that define the permissions.
#[derive(Debug, Clone)]
pub struct PolicySources {
    places: PathVariables,
    builtin: PolicyFile,
    user: PolicyFile,
    project: Option<(PathBuf, PolicyFile)>,
    extra: Vec<PermissionProfile>,
    sandbox: SandboxDefaults,
}

/// Sandbox settings that apply where a profile sets none. Built-in defaults
/// come after these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxDefaults {
    /// How to handle calls that the system cannot confine.
    pub missing: Option<MissingSandbox>,
    /// How child processes reach the network.
    pub network: Option<NetworkMode>,
    /// Loopback ports of the host that child processes may use.
    pub host_ports: Option<Vec<u16>>,
}

/// How to handle a call whose child processes the system cannot confine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingSandbox {
    /// Refuse it.
    Refuse,
    /// Ask the user.
    Ask,
    /// Run it with the confinement that this system supports.
    Reduced,
}

/// A selectable profile and its origin.
#[derive(Debug, Clone)]
pub struct ProfileSummary {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its file; `None` if it is built in.
    pub file: Option<PathBuf>,
}

impl PolicySources {
    /// Reads the built-in profiles, the user's file and the project's file. A
    /// broken file is an error: its restrictions must not be dropped silently.
    pub fn load(
        own: &Path,
        project: Option<&Path>,
        places: PathVariables,
    ) -> Result<Self, PolicyError> {
        let builtin = PolicyFile::builtin(&places)?;
        let own = PolicyFile::load(own, &places)?;
        // A dangling symlink does not count as a missing file.
        let project = match project.filter(|path| path.symlink_metadata().is_ok()) {
            Some(path) => Some((path.to_owned(), load_project(path, &places)?)),
            None => None,
        };
        let (extra, sandbox) = (Vec::new(), SandboxDefaults::default());
        let sources = Self { places, builtin, user: own, project, extra, sandbox };
        sources.check_expectations()?;
        Ok(sources)
    }

    /// Adds rules from another source that apply to every profile.
    pub fn add_global_rules(&mut self, name: &str, text: &str) -> Result<(), PolicyError> {
        let extra = PolicyFile::parse(name, text, &self.places)?;
        self.extra.extend(extra.global.map(|mut profile| {
            profile.level.name = name.to_owned();
            profile
        }));
        Ok(())
    }

    /// Sets the sandbox settings that apply where a profile sets none.
    pub fn set_sandbox_defaults(&mut self, defaults: SandboxDefaults) {
        self.sandbox = defaults;
    }

    /// Whether the user's file defines that profile.
    pub fn is_user_defined(&self, profile: &str) -> bool {
        self.user.profiles.iter().any(|own| own.name == profile)
    }

    /// Returns every selectable profile.
    pub fn profiles(&self) -> Vec<ProfileSummary> {
        let mut all: Vec<ProfileSummary> = Vec::new();
        for profile in self.user.profiles.iter().chain(&self.builtin.profiles) {
            if all.iter().any(|known| known.name == profile.name) {
                continue;
            }
            all.push(ProfileSummary {
                name: profile.name.clone(),
                description: profile.description.clone(),
                file: profile.level.place.as_ref().map(|place| place.file.clone()),
            });
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Returns the profile of that name.
    pub fn profile(&self, name: &str) -> Result<PermissionProfile, PolicyError> {
        if let Some(mut profile) = self.user.resolve(name, Some(&self.builtin))? {
            profile.overrides = profile.overrides.or(self.sandbox.overrides());
            profile.sandbox = profile.overrides.settings();
            return Ok(profile);
        }
        let names = self.profiles();
        let near = hermes_core::similar::nearest(name, names.iter().map(|n| n.name.as_str()), 0.5);
        let hint = match near {
            Some(near) => format!("Did you mean '{near}'?"),
            None => "`hermes permissions profiles` lists them.".to_owned(),
        };
        Err(PolicyError::new(format!("No such permission profile: '{name}'")).hint(hint))
    }

    /// Returns warnings for rules in the project's file that have no effect: a
    /// project can only narrow.
    pub fn ineffective_rules(&self) -> Vec<String> {
        let Some((path, file)) = &self.project else { return Vec::new() };
        let mut idle = Vec::new();
        for profile in file.profiles.iter().chain(&file.global) {
            let of_level = |is_said: fn(&PolicyLevel) -> bool| {
                let tools = profile.tools.iter().map(|tool| &tool.level);
                let after = profile.after_untrusted.iter().map(|after| &after.level);
                std::iter::once(&profile.level).chain(tools).chain(after).any(is_said)
            };
            let parts = [
                ("allow: [\"*\"]", of_level(allows_all)),
                ("dangerous: allow", of_level(|it| has_restriction(it, |r| r.dangerous))),
                ("private_hosts: allow", of_level(|it| has_restriction(it, |r| r.private_hosts))),
                (
                    "elsewhere: allow",
                    of_level(|it| {
                        has_restriction(it, |r| r.has_default_answer.then_some(r.default_answer))
                    }),
                ),
                ("approved", !profile.level.approved.is_empty()),
                ("sensitive_paths", !profile.sensitive_paths.is_empty()),
                ("sandbox.sockets", !profile.sockets.is_empty()),
                ("sandbox.enabled: false", profile.overrides.enabled == Some(false)),
            ];
            idle.extend(parts.iter().filter(|(_, is_said)| *is_said).map(|(part, _)| {
                format!(
                    "{}: {part} of profile {} has no effect: a project can only narrow \
                     permissions",
                    path.display(),
                    profile.name
                )
            }));
        }
        idle
    }

    /// Returns what narrows a profile: the global rules and the project's
    /// rules.
    pub fn narrowing_profiles(&self, name: &str) -> Result<Vec<PermissionProfile>, PolicyError> {
        let mut narrowing: Vec<PermissionProfile> = self.user.global.iter().cloned().collect();
        narrowing.extend(self.extra.iter().cloned());
        if let Some((_, project)) = &self.project {
            narrowing.extend(project.global.iter().cloned().map(|mut global| {
                global.level.name = "the project's global rules".to_owned();
                global
            }));
            // Without a base, so it cannot inherit rules from another file.
            if let Some(mut profile) = project.resolve(name, None)? {
                profile.level.name = format!("the project's {}", profile.level.name);
                profile.sensitive_paths.clear();
                profile.sockets.clear();
                profile.level.approved.clear();
                narrowing.push(profile);
            }
        }
        Ok(narrowing)
    }

    /// Returns the permissions under the profile of that name.
    pub fn permissions(
        &self,
        name: &str,
        settings: EnforcementSettings,
        saved: SavedRules,
        tickets: TicketStore,
    ) -> Result<PermissionPolicy, PolicyError> {
        let profile = self.profile(name)?;
        let narrowing = self.narrowing_profiles(name)?;
        Ok(PermissionPolicy::new(profile, narrowing, self.places.clone(), settings, saved, tickets))
    }

    /// Checks that the tools and parameters named by rules exist: a rule for an
    /// unknown one would silently never match. Rules that may refer to tools of
    /// MCP servers, which come and go, are not checked.
    pub fn check_tools(
        &self,
        tools: &[&str],
        parameters: impl Fn(&str) -> Vec<String>,
    ) -> Result<(), PolicyError> {
        let project = self.project.as_ref().map(|(_, file)| file);
        let files = [Some(&self.user), project].into_iter().flatten();
        let profiles = files.flat_map(|file| file.profiles.iter().chain(&file.global));
        for rules in profiles.chain(&self.extra).flat_map(|profile| &profile.tools) {
            let written = rules.tool.to_string();
            let fixed = written.split(['*', '?', '[', '{']).next().unwrap_or_default();
            let is_pattern = fixed != written;
            let may_be_of_server =
                fixed.starts_with(MCP_TOOL_PREFIX) || MCP_TOOL_PREFIX.starts_with(fixed);
            if may_be_of_server || (is_pattern && tools.iter().any(|tool| rules.tool.matches(tool)))
            {
                continue;
            }
            let Some(tool) = tools.iter().find(|tool| rules.tool.matches(tool)) else {
                let unknown = unknown_name_error("tool", &written, tools);
                return Err(unknown.at(rules.level.place.clone()));
            };
            let known = if rules.parameters.is_empty() { Vec::new() } else { parameters(tool) };
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            // A tool without declared parameters may accept any.
            let names =
                |rule: &&ParameterRule| known.is_empty() || known.contains(&rule.name.as_str());
            if let Some(rule) = rules.parameters.iter().find(|rule| !names(rule)) {
                let unknown =
                    unknown_name_error(&format!("parameter of {tool}"), &rule.name, &known);
                return Err(unknown.at(rule.origin.place.clone()));
            }
        }
        Ok(())
    }

    /// Checks the examples given with rules.
    fn check_expectations(&self) -> Result<(), PolicyError> {
        let project = self.project.as_ref().map(|(_, file)| file);
        let files = [Some(&self.user), project].into_iter().flatten();
        let known = self.profiles();
        let mut judges: BTreeMap<&str, PermissionPolicy> = BTreeMap::new();
        for expected in files.flat_map(|file| &file.expectations) {
            let name = expected.profile.as_deref().unwrap_or("default");
            // A project may narrow a profile that this user does not define.
            let is_known = known.iter().any(|profile| profile.name == name);
            let name = if is_known { name } else { "default" };
            let judge = match judges.entry(name) {
                Entry::Occupied(found) => found.into_mut(),
                Entry::Vacant(free) => free.insert(self.bare_permissions(name)?),
            };
            self.check_expectation(expected, judge)?;
        }
        Ok(())
    }

    /// Returns the permissions under a profile, without any saved approvals.
    fn bare_permissions(&self, name: &str) -> Result<PermissionPolicy, PolicyError> {
        let nowhere = self.places.hermes.join("approvals");
        let saved = SavedRules::load(nowhere.join("none")).map_err(PolicyError::new)?;
        self.permissions(name, EnforcementSettings::default(), saved, TicketStore::new(nowhere))
    }

    /// Returns the directory that an example's paths are relative to: the
    /// project root for examples from the project's file.
    fn example_dir(&self, expected: &RuleExpectation) -> PathBuf {
        let of_project = self
            .project
            .as_ref()
            .filter(|(file, _)| expected.place.as_ref().is_some_and(|place| place.file == *file));
        let root = of_project.and_then(|(file, _)| file.parent()?.parent());
        let root = root.map(Path::to_path_buf).or_else(|| self.places.workspace.clone());
        root.unwrap_or_else(|| "/".into())
    }

    fn check_expectation(
        &self,
        expected: &RuleExpectation,
        permissions: &PermissionPolicy,
    ) -> Result<(), PolicyError> {
        let at = WorkingDir::new(self.example_dir(expected), self.places.home.clone());
        let effect = expected_effect(expected, &at)?;
        let session = Session::new("examples", Arc::new(MemorySessionStore::default()));
        let exam = permissions.examine(&CallProposal {
            tool: "example",
            toolset: "example",
            arguments: &serde_json::Value::Null,
            effects: &[effect],
            code: None,
            annotations: hermes_core::ToolAnnotations::default(),
            working_dir: &at,
            call_id: "example",
            session: &session,
            task_id: "example",
            depth: 0,
        });
        let got = exam.answer();
        if got == expected.answer {
            return Ok(());
        }
        let why = exam.decisive_finding().and_then(|finding| finding.origin.clone());
        let why = why.map_or_else(|| "no rule forbids it".to_owned(), |o| o.rule.clone());
        Err(PolicyError::new(format!(
            "The example '{}' should be {}, but it is {}: {why}",
            expected.resource,
            past_tense(expected.answer),
            past_tense(got),
        ))
        .at(expected.place.clone())
        .hint("Fix the rule or the example."))
    }
}

impl SandboxDefaults {
    fn overrides(&self) -> SandboxOverrides {
        SandboxOverrides {
            missing: self.missing.map(|missing| match missing {
                MissingSandbox::Ask => PolicyAnswer::Ask,
                MissingSandbox::Refuse | MissingSandbox::Reduced => PolicyAnswer::Deny,
            }),
            reduced: self.missing.map(|missing| missing == MissingSandbox::Reduced),
            network: self.network,
            host_ports: self.host_ports.clone(),
            ..SandboxOverrides::default()
        }
    }
}

/// Loads the project's rules. Their paths are relative to the project root,
/// even from a subdirectory.
fn load_project(path: &Path, places: &PathVariables) -> Result<PolicyFile, PolicyError> {
    if !path.exists() {
        let message = format!("{} is a dangling symlink", path.display());
        return Err(PolicyError::new(message).hint("Fix or remove the symlink."));
    }
    let root = path.parent().and_then(Path::parent).map(hermes_files::real_path);
    let root = root.and_then(Result::ok).or_else(|| places.workspace.clone());
    PolicyFile::load(path, &PathVariables { workspace: root, ..places.clone() })
}

fn past_tense(answer: PolicyAnswer) -> &'static str {
    match answer {
        PolicyAnswer::Allow => "allowed",
        PolicyAnswer::Ask => "asked about",
        PolicyAnswer::Deny => "denied",
    }
}

fn expected_effect(expected: &RuleExpectation, at: &WorkingDir) -> Result<Effect, PolicyError> {
    let pattern = expected.scope.as_str();
    let scope = Scope::ALL.iter().find(|scope| expected.scope.matches(scope)).cloned();
    let scope = scope.unwrap_or_else(|| Scope::named(pattern.replace('*', "example")));
    Ok(resource_effect(scope, &expected.resource, at))
}

/// Returns an effect of that scope on a resource written as text.
pub(crate) fn resource_effect(scope: Scope, text: &str, at: &WorkingDir) -> Effect {
    let resource = match scope.family() {
        "file" | "git" => Resource::Path(at.resolve(text)),
        "terminal" => Resource::Command(text.to_owned()),
        "network" | "browser" => Resource::Host(text.to_owned()),
        _ => Resource::Name(text.to_owned()),
    };
    Effect { scope, resource }
}

impl PermissionPolicy {
    /// Parses the effect that a user describes by a scope and a text.
    pub fn parse_effect(scope: &str, text: Option<&str>, at: &WorkingDir) -> Effect {
        let known = Scope::ALL.iter().find(|known| known.as_str() == scope).cloned();
        let scope = known.unwrap_or_else(|| Scope::named(scope));
        match text {
            Some(text) => resource_effect(scope, text, at),
            None => Effect::any(scope),
        }
    }
}

/// Returns the error for an unknown name.
fn unknown_name_error(what: &str, name: &str, known: &[&str]) -> PolicyError {
    let near = hermes_core::similar::nearest(name, known.iter().copied(), 0.6);
    let hint = match near {
        Some(near) => format!("Did you mean '{near}'?"),
        None if known.len() <= 12 => format!("Known here: {}.", known.join(", ")),
        None => "`hermes tools list` lists them.".to_owned(),
    };
    PolicyError::new(format!("Unknown {what} '{name}': the rule would never match")).hint(hint)
}

/// Whether a level allows everything and so narrows nothing.
fn allows_all(level: &PolicyLevel) -> bool {
    let mut rules = level.allow.iter().flatten();
    rules.any(|rule| rule.selectors.is_none() && rule.scope.as_str() == "*")
}

/// Whether a restriction has the answer `allow`.
fn has_restriction(
    level: &PolicyLevel,
    what: fn(&ScopeRestriction) -> Option<PolicyAnswer>,
) -> bool {
    level.restrictions.iter().any(|restriction| what(restriction) == Some(PolicyAnswer::Allow))
}
