//! Permissions, from the file to the ruling.
#![allow(clippy::unwrap_used)]

mod answers;
mod bounds;
mod corpus;
mod files;
mod laws;
mod narrowing;
mod paths;
mod profiles;
mod protected;
mod repositories;
mod scripts;
mod untrusted;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{
    CallProposal, Effect, EnvAssignment, MemorySessionStore, Resource, Scope, Session,
    ToolAnnotations, WorkingDir,
};
use hermes_policy::{
    CallExamination, EnforcementSettings, PathVariables, PermissionPolicy, PolicyAnswer,
    PolicyError, PolicySources, SavedRules, TicketStore,
};
use serde_json::Value;

/// A workspace and a home of their own, apart from the temporary folder.
struct World {
    root: tempfile::TempDir,
    session: Session,
}

impl World {
    fn new() -> Self {
        // What is in the temporary folder may be written, so this must not be.
        let usual = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let dir = if usual.starts_with("/tmp") { Path::new("/var/tmp") } else { usual };
        let root = tempfile::tempdir_in(dir).unwrap();
        for dir in ["ws/src", "home/.ssh", "hermes", "out"] {
            std::fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        let session = Session::new("test", Arc::new(MemorySessionStore::default()));
        Self { root, session }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Gives the workspace a repository with this remote.
    fn remote(&self, name: &str, address: &str) {
        self.put("ws/.git/HEAD", "ref: refs/heads/main\n");
        self.put("ws/.git/config", &format!("[remote \"{name}\"]\n\turl = {address}\n"));
    }

    fn places(&self) -> PathVariables {
        PathVariables {
            workspace: Some(self.path("ws")),
            home: Some(self.path("home")),
            hermes: self.path("hermes"),
            temp: vec![PathBuf::from("/tmp")],
        }
    }

    fn at(&self) -> WorkingDir {
        WorkingDir::new(self.path("ws"), Some(self.path("home")))
    }

    /// The permissions under a profile of the user's file.
    fn with(&self, yaml: &str, profile: &str) -> Result<PermissionPolicy, PolicyError> {
        self.with_settings(yaml, profile, EnforcementSettings::default())
    }

    fn sources(&self, yaml: &str) -> Result<PolicySources, PolicyError> {
        let own = self.put("hermes/hermes_permissions.yaml", yaml);
        let project = self.path("ws/.hermes/hermes_permissions.yaml");
        PolicySources::load(&own, Some(&project), self.places())
    }

    fn with_settings(
        &self,
        yaml: &str,
        profile: &str,
        settings: EnforcementSettings,
    ) -> Result<PermissionPolicy, PolicyError> {
        let sources = self.sources(yaml)?;
        let saved = SavedRules::load(self.path("hermes/approvals.json")).unwrap();
        let tickets = TicketStore::new(self.path("hermes/approvals"));
        sources.permissions(profile, settings, saved, tickets)
    }

    fn builtin(&self, profile: &str) -> PermissionPolicy {
        self.with("", profile).unwrap()
    }

    fn proposal<'a>(&'a self, effects: &'a [Effect], at: &'a WorkingDir) -> CallProposal<'a> {
        CallProposal {
            tool: "probe",
            toolset: "probe",
            arguments: &Value::Null,
            effects,
            code: None,
            annotations: ToolAnnotations::default(),
            working_dir: at,
            call_id: "1",
            session: &self.session,
            task_id: "t",
            depth: 0,
        }
    }

    fn examine(&self, permissions: &PermissionPolicy, effect: Effect) -> CallExamination {
        permissions.consider(&self.proposal(&[effect], &self.at())).0
    }

    fn command(&self, permissions: &PermissionPolicy, command: &str) -> CallExamination {
        let resource = Resource::Command(command.to_owned());
        self.examine(permissions, Effect { scope: Scope::TERMINAL_EXECUTE, resource })
    }

    /// What is said of a variable of the session.
    fn sets(&self, permissions: &PermissionPolicy, name: &str, value: &str) -> PolicyAnswer {
        let variable = EnvAssignment { name: name.to_owned(), value: value.to_owned() };
        let resource = Resource::Variable(Box::new(variable));
        self.examine(permissions, Effect { scope: Scope::ENV_WRITE, resource }).answer()
    }

    fn judged(&self, permissions: &PermissionPolicy, command: &str) -> PolicyAnswer {
        self.command(permissions, command).answer()
    }

    fn touches(
        &self,
        permissions: &PermissionPolicy,
        scope: Scope,
        path: impl AsRef<Path>,
    ) -> PolicyAnswer {
        self.examine(permissions, Effect::path(scope, path.as_ref())).answer()
    }

    fn reaches(&self, permissions: &PermissionPolicy, scope: Scope, host: &str) -> PolicyAnswer {
        let effect = Effect { scope, resource: Resource::Host(host.to_owned()) };
        self.examine(permissions, effect).answer()
    }
}
