//! Registers the tools of a server.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Weak};

use hermes_core::{BoxFuture, ToolError};
use hermes_engine::{Engine, ToolOwner, ToolSource};
use serde_json::Value;

use super::SupervisedServer;
use crate::client::catalogue::ServerCatalogue;
use crate::client::describe::describe_tool;
use crate::client::names;
use crate::client::pins::{PinStatus, ToolPins, tool_name};
use crate::client::protocol_tools::ProtocolTool;
use crate::client::settings::ServerTransport;
use crate::client::tool::McpTool;

/// The registered tools of a server.
#[derive(Debug, Default, Clone)]
pub(crate) struct PublishedTools {
    /// Tool names and fingerprints.
    pub(crate) tools: BTreeMap<String, String>,
    /// Tools that are held back, and why.
    pub(crate) held_back: BTreeMap<String, ToolError>,
    /// Tools added after the first use.
    pub(crate) new_tools: Vec<String>,
    /// Findings in texts, and other problems.
    pub(crate) problems: Vec<String>,
}

/// Fetches the tools of a server again before one is reported as unknown.
#[derive(Debug)]
struct RefetchingToolSource(Weak<SupervisedServer>);

impl ToolSource for RefetchingToolSource {
    fn refresh(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            match self.0.upgrade() {
                Some(server) => server.refetch_tools().await,
                None => Ok(()),
            }
        })
    }
}

/// Sets the error for calls to the tools of a server while it has none.
pub(crate) fn explain_tool_absence(engine: &Engine, server: &str, why: &ToolError) {
    let edited: Result<(), Infallible> = engine.registry().edit(|edit| {
        for beginning in names::name_prefixes(server) {
            edit.explain_absence(&beginning, Some(why.clone()));
        }
        Ok(())
    });
    let Ok(()) = edited;
}

impl SupervisedServer {
    /// Replaces the registered tools of the server in one edit. Unchanged ones
    /// stay.
    pub(crate) fn publish(self: &Arc<Self>, catalogue: &Arc<ServerCatalogue>) {
        let (tools, mut problems) = self.build_tools(catalogue);
        problems.extend(catalogue.problems.iter().cloned());
        let owner = ToolOwner::named(format!("mcp:{}", self.name));
        let mut published = self.published.lock();
        let mut next = PublishedTools::default();
        let engine = &self.shared.engine;
        let edited: Result<(), Infallible> = engine.registry().edit(|edit| {
            let kept: Vec<&str> = tools.iter().map(McpTool::name).collect();
            for gone in published.tools.keys().filter(|name| !kept.contains(&name.as_str())) {
                let _ = edit.deregister(gone, &owner);
            }
            for tool in tools {
                let (name, print) = (tool.name().to_owned(), tool.fingerprint());
                if let Some(why) = tool.held_back() {
                    next.held_back.insert(name.clone(), why.clone());
                }
                if tool.is_new {
                    next.new_tools.push(name.clone());
                }
                if !tool.findings.is_empty() {
                    problems.push(format!("{name}: {}", tool.findings.join(", ")));
                }
                if published.tools.get(&name) != Some(&print) {
                    let (bare, id) = (tool.without_aliases(), tool.canonical_name());
                    // If an alias is taken, register the tool without it.
                    let registered = edit
                        .register(Arc::new(tool), &owner)
                        .or_else(|_| edit.register(Arc::new(bare), &owner));
                    if let Err(error) = registered {
                        problems.push(format!("{name}: {error}"));
                        continue;
                    }
                    edit.assign_id(&id, &name, &owner);
                }
                next.tools.insert(name, print);
            }
            for beginning in names::name_prefixes(&self.name) {
                edit.explain_absence(&beginning, None);
                let origin: Arc<dyn ToolSource> =
                    Arc::new(RefetchingToolSource(Arc::downgrade(self)));
                edit.set_source(&beginning, Some(origin));
            }
            if !next.tools.is_empty() && published.tools.is_empty() {
                let _ = edit.alias_toolset(&*self.name, names::toolset(&self.name), &owner);
            }
            Ok(())
        });
        let Ok(()) = edited;
        next.problems = problems;
        *published = next;
        drop(published);
        *self.catalogue.lock() = Some(Arc::clone(catalogue));
    }

    /// Sets the error for calls to its tools, until they are registered.
    pub(crate) fn explain_absence(&self, why: &str, cause: Option<&ToolError>) {
        if self.catalogue().is_some() {
            return;
        }
        let name = &self.name;
        let error = ToolError::unavailable(format!("The MCP server '{name}' {why}"));
        let usual =
            format!("Continue without it for now; `hermes mcp test {name}` shows its state.");
        // A login error has its own hint.
        let login = cause.filter(|cause| crate::client::oauth::is_auth_required(cause));
        let error = error.with_hint(login.map_or(usual, |cause| cause.hint().to_owned()));
        let details = cause.map(ToolError::details).into_iter().flatten();
        let error = details.fold(error, |it, (key, value)| it.with(key, value.clone()));
        explain_tool_absence(&self.shared.engine, name, &error);
    }

    /// Unregisters its tools.
    pub(crate) fn withdraw(&self) {
        let owner = ToolOwner::named(format!("mcp:{}", self.name));
        let published = std::mem::take(&mut *self.published.lock());
        let edited: Result<(), Infallible> = self.shared.engine.registry().edit(|edit| {
            for name in published.tools.keys() {
                let _ = edit.deregister(name, &owner);
            }
            for beginning in names::name_prefixes(&self.name) {
                edit.set_source(&beginning, None);
            }
            Ok(())
        });
        let Ok(()) = edited;
    }

    fn build_tools(self: &Arc<Self>, catalogue: &ServerCatalogue) -> (Vec<McpTool>, Vec<String>) {
        let filter = &self.settings.tools;
        let taken = catalogue.tools.iter().filter(|tool| filter.accepts(tool_name(tool)));
        let definitions: Vec<Value> = taken.cloned().collect();
        let mut problems = Vec::new();
        let (standings, pins) = self.check_pins(&definitions, &mut problems);
        let mut tools: Vec<McpTool> = definitions
            .iter()
            .zip(&standings)
            .map(|(definition, standing)| {
                let usable = catalogue.usable.get(tool_name(definition));
                let mut tool = McpTool::new(self, definition, usable, standing);
                tool.is_new = pins.is_new_tool(tool_name(definition));
                tool
            })
            .collect();
        let extras = ProtocolTool::for_server(catalogue, filter).into_iter();
        tools.extend(extras.map(|(extra, name)| McpTool::for_protocol_tool(self, extra, name)));
        if self.shared.is_plain_name_unique(&self.name) {
            self.add_aliases(&mut tools, &definitions);
        }
        (tools, problems)
    }

    /// Returns the tool that reads linked resources, if there is one.
    pub(crate) fn resource_reader(&self) -> Option<String> {
        let catalogue = self.catalogue()?;
        let mut extras = ProtocolTool::for_server(&catalogue, &self.settings.tools).into_iter();
        let (_, name) = extras.find(|(extra, _)| *extra == ProtocolTool::ReadResource)?;
        Some(names::model_name(&self.name, name))
    }

    /// Adds the Hermes Agent names of the tools as aliases, where they are
    /// unique.
    fn add_aliases(&self, tools: &mut [McpTool], definitions: &[Value]) {
        let others: Vec<Option<String>> = definitions
            .iter()
            .map(|it| names::hermes_agent_name(&self.name, tool_name(it)))
            .collect();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        let own = tools.iter().map(|tool| tool.name().to_owned());
        for name in own.chain(others.iter().flatten().cloned()) {
            *taken.entry(name).or_default() += 1;
        }
        for (tool, other) in tools.iter_mut().zip(others) {
            if let Some(other) = other.filter(|other| taken.get(other) == Some(&1)) {
                tool.add_alias(other);
            }
        }
    }

    /// Compares each tool with its pin.
    fn check_pins(
        &self,
        definitions: &[Value],
        problems: &mut Vec<String>,
    ) -> (Vec<PinStatus>, ToolPins) {
        if !self.settings.pin {
            return (vec![PinStatus::Trusted; definitions.len()], ToolPins::default());
        }
        let dir = &self.shared.pins;
        let mut pins = match ToolPins::load(dir, &self.name) {
            Ok(pins) => pins.unwrap_or_default(),
            Err(error) => {
                problems.push(format!("Cannot read the pinned tools: {error}"));
                let unread = PinStatus::Renamed { gone: vec!["what it was".to_owned()] };
                return (vec![unread; definitions.len()], ToolPins::default());
            }
        };
        let suspicious = |tool: &Value| !describe_tool(&self.name, tool).findings.is_empty();
        let (standings, has_news) = pins.check_tools(&self.identity(), definitions, suspicious);
        if has_news && let Err(error) = pins.save(dir, &self.name) {
            problems.push(format!("Cannot save the pinned tools: {error}"));
        }
        (standings, pins)
    }

    /// Returns the identity of the server, without secrets.
    pub(crate) fn identity(&self) -> String {
        match &self.settings.transport {
            ServerTransport::Stdio { .. } => {
                let part =
                    |key: &str| self.settings.raw_entry.get(key).cloned().unwrap_or_default();
                format!("{} {}", part("command"), part("args"))
            }
            ServerTransport::Http { .. } => {
                self.settings.raw_entry.get("url").cloned().unwrap_or_default().to_string()
            }
        }
    }
}
