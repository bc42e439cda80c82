//! A server's tools in the registry.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Weak};

use hermes_core::{BoxFuture, ToolError};
use hermes_engine::{Engine, ToolSource, ToolOwner};
use serde_json::Value;

use super::{Server, lock};
use crate::client::catalogue::Catalogue;
use crate::client::describe::describe;
use crate::client::extras::Extra;
use crate::client::names;
use crate::client::pins::{Pins, Standing, name_of};
use crate::client::settings::Link;
use crate::client::tool::RemoteTool;

/// What stands in the registry.
#[derive(Debug, Default, Clone)]
pub(crate) struct Published {
    /// Names, and what tells one form of a tool from another.
    pub(crate) tools: BTreeMap<String, String>,
    /// Those that are held back, and why.
    pub(crate) held_back: BTreeMap<String, ToolError>,
    /// Those that came after the others.
    pub(crate) news: Vec<String>,
    /// What was found in texts, and what else is wrong.
    pub(crate) problems: Vec<String>,
}

/// A server that is asked before a tool of it is said not to exist.
#[derive(Debug)]
struct Asked(Weak<Server>);

impl ToolSource for Asked {
    fn refresh(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            match self.0.upgrade() {
                Some(server) => server.look_again().await,
                None => Ok(()),
            }
        })
    }
}

/// Calls of a server's tools fail like this for as long as there are none.
pub(crate) fn absent(engine: &Engine, server: &str, why: &ToolError) {
    let edited: Result<(), Infallible> = engine.registry().edit(|edit| {
        for beginning in names::beginnings(server) {
            edit.explain_absence(&beginning, Some(why.clone()));
        }
        Ok(())
    });
    let Ok(()) = edited;
}

impl Server {
    /// Puts its tools into the registry in place of those that were there: all
    /// at once, and without those that stay as they are.
    pub(crate) fn publish(self: &Arc<Self>, catalogue: &Arc<Catalogue>) {
        let (tools, mut problems) = self.tools_of(catalogue);
        problems.extend(catalogue.problems.iter().cloned());
        let owner = ToolOwner::named(format!("mcp:{}", self.name));
        let mut published = lock(&self.published);
        let mut next = Published::default();
        let engine = &self.shared.engine;
        let edited: Result<(), Infallible> = engine.registry().edit(|edit| {
            let kept: Vec<&str> = tools.iter().map(RemoteTool::name).collect();
            for gone in published.tools.keys().filter(|name| !kept.contains(&name.as_str())) {
                let _ = edit.deregister(gone, &owner);
            }
            for tool in tools {
                let (name, print) = (tool.name().to_owned(), tool.print());
                if let Some(why) = tool.held_back() {
                    next.held_back.insert(name.clone(), why.clone());
                }
                if tool.is_news {
                    next.news.push(name.clone());
                }
                if !tool.findings.is_empty() {
                    problems.push(format!("{name}: {}", tool.findings.join(", ")));
                }
                if published.tools.get(&name) != Some(&print) {
                    let (bare, id) = (tool.without_aliases(), tool.id());
                    // Another name is a courtesy, and not worth the tool.
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
            for beginning in names::beginnings(&self.name) {
                edit.explain_absence(&beginning, None);
                let origin: Arc<dyn ToolSource> = Arc::new(Asked(Arc::downgrade(self)));
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
        *lock(&self.catalogue) = Some(Arc::clone(catalogue));
    }

    /// Tells who calls a tool of it why there is none, until there are some.
    pub(crate) fn explain_absence(&self, why: &str, cause: Option<&ToolError>) {
        if self.catalogue().is_some() {
            return;
        }
        let name = &self.name;
        let error = ToolError::unavailable(format!("The MCP server '{name}' {why}"));
        let usual =
            format!("Go on without it for now; `hermes mcp test {name}` shows how it does.");
        // Who wants a login has said what to do.
        let login = cause.filter(|cause| crate::client::login::is_wanted(cause));
        let error = error.with_hint(login.map_or(usual, |cause| cause.hint().to_owned()));
        let details = cause.map(ToolError::details).into_iter().flatten();
        let error = details.fold(error, |it, (key, value)| it.with(key, value.clone()));
        absent(&self.shared.engine, name, &error);
    }

    /// Takes its tools out of the registry.
    pub(crate) fn withdraw(&self) {
        let owner = ToolOwner::named(format!("mcp:{}", self.name));
        let published = std::mem::take(&mut *lock(&self.published));
        let edited: Result<(), Infallible> = self.shared.engine.registry().edit(|edit| {
            for name in published.tools.keys() {
                let _ = edit.deregister(name, &owner);
            }
            for beginning in names::beginnings(&self.name) {
                edit.set_source(&beginning, None);
            }
            Ok(())
        });
        let Ok(()) = edited;
    }

    fn tools_of(self: &Arc<Self>, catalogue: &Catalogue) -> (Vec<RemoteTool>, Vec<String>) {
        let filter = &self.settings.tools;
        let taken = catalogue.tools.iter().filter(|tool| filter.takes(name_of(tool)));
        let definitions: Vec<Value> = taken.cloned().collect();
        let mut problems = Vec::new();
        let (standings, pins) = self.judge(&definitions, &mut problems);
        let mut tools: Vec<RemoteTool> = definitions
            .iter()
            .zip(&standings)
            .map(|(definition, standing)| {
                let usable = catalogue.usable.get(name_of(definition));
                let mut tool = RemoteTool::new(self, definition, usable, standing);
                tool.is_news = pins.is_news(name_of(definition));
                tool
            })
            .collect();
        let extras = Extra::of(catalogue, filter).into_iter();
        tools.extend(extras.map(|(extra, name)| RemoteTool::extra(self, extra, name)));
        if self.shared.is_plain_name_unique(&self.name) {
            self.add_aliases(&mut tools, &definitions);
        }
        (tools, problems)
    }

    /// The tool that reads what answers refer to, if there is one.
    pub(crate) fn reader(&self) -> Option<String> {
        let catalogue = self.catalogue()?;
        let mut extras = Extra::of(&catalogue, &self.settings.tools).into_iter();
        let (_, name) = extras.find(|(extra, _)| *extra == Extra::ReadResource)?;
        Some(names::wire(&self.name, name))
    }

    /// Gives tools the names that they have in Hermes Agent, where those are
    /// nobody else's.
    fn add_aliases(&self, tools: &mut [RemoteTool], definitions: &[Value]) {
        let others: Vec<Option<String>> =
            definitions.iter().map(|it| names::other(&self.name, name_of(it))).collect();
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

    /// How each tool stands to what it was like at first.
    fn judge(&self, definitions: &[Value], problems: &mut Vec<String>) -> (Vec<Standing>, Pins) {
        if !self.settings.pin {
            return (vec![Standing::Good; definitions.len()], Pins::default());
        }
        let folder = &self.shared.pins;
        let mut pins = match Pins::load(folder, &self.name) {
            Ok(pins) => pins.unwrap_or_default(),
            Err(error) => {
                problems.push(format!("What its tools were like cannot be read: {error}"));
                let unread = Standing::Renamed { gone: vec!["what it was".to_owned()] };
                return (vec![unread; definitions.len()], Pins::default());
            }
        };
        let suspicious = |tool: &Value| !describe(&self.name, tool).findings.is_empty();
        let (standings, has_news) = pins.judge(&self.identity(), definitions, suspicious);
        if has_news && let Err(error) = pins.save(folder, &self.name) {
            problems.push(format!("What its tools are like cannot be kept: {error}"));
        }
        (standings, pins)
    }

    /// What the server is, without what is secret.
    pub(crate) fn identity(&self) -> String {
        match &self.settings.link {
            Link::Program { .. } => {
                let part = |key: &str| self.settings.written.get(key).cloned().unwrap_or_default();
                format!("{} {}", part("command"), part("args"))
            }
            Link::Http { .. } => {
                self.settings.written.get("url").cloned().unwrap_or_default().to_string()
            }
        }
    }
}
