//! The parsed document: every node with its position in the text.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};
use serde_json::Value;

use crate::scalar;
use crate::source::SpannedProblem;
use crate::syntax;

/// Maximum nesting depth, including values reached through aliases.
pub(crate) const MAX_DEPTH: usize = 128;
/// Maximum number of values in a document, including those reached through
/// aliases.
pub(crate) const MAX_NODES: usize = 250_000;

pub(crate) type NodeId = usize;

#[derive(Debug)]
pub(crate) struct YamlTree {
    pub(crate) nodes: Vec<YamlNode>,
    pub(crate) root: Option<NodeId>,
    /// Every comment, if requested.
    pub(crate) comments: Vec<Range<usize>>,
    /// Where the document's content ends: at an explicit end marker or the end
    /// of the text.
    pub(crate) end: usize,
}

#[derive(Debug)]
pub(crate) struct YamlNode {
    pub(crate) kind: YamlNodeKind,
    pub(crate) start: usize,
    /// The end of scalars and bracketed collections; for other nodes the parser
    /// reports no exact end.
    pub(crate) end: usize,
    pub(crate) anchor: Option<Range<usize>>,
    pub(crate) tag: Option<Range<usize>>,
    /// Whether the node is still being built; an alias to it would contain
    /// itself.
    open: bool,
}

#[derive(Debug)]
pub(crate) enum YamlNodeKind {
    Scalar { value: Value, style: ScalarStyle },
    List { flow: bool, items: Vec<NodeId> },
    Map { flow: bool, entries: Vec<MapEntry> },
    Alias(NodeId),
}

#[derive(Debug)]
pub(crate) struct MapEntry {
    pub(crate) name: String,
    /// `<<`, which merges the entries of other mappings.
    pub(crate) merge: bool,
    pub(crate) key: NodeId,
    pub(crate) value: NodeId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommentMode {
    Skip,
    Keep,
}

pub(crate) fn parse(text: &str, comments: CommentMode) -> Result<YamlTree, SpannedProblem> {
    let options = granit_parser::options! {
        emit_anchor_events: true,
        emit_comments: comments == CommentMode::Keep,
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut builder = TreeBuilder::new(text.len());
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| syntax::explain_scan_error(&error, text))?;
        builder.on_event(event, &span)?;
    }
    // The parser reports the comment of a `|` line after the text below it.
    builder.tree.comments.sort_by_key(|comment| comment.start);
    Ok(builder.tree)
}

impl YamlTree {
    pub(crate) fn node(&self, id: NodeId) -> &YamlNode {
        &self.nodes[id]
    }

    /// Returns the target of an alias, or the node itself.
    pub(crate) fn target(&self, id: NodeId) -> NodeId {
        match self.node(id).kind {
            YamlNodeKind::Alias(target) => target,
            _ => id,
        }
    }

    /// Returns the mappings that a mapping merges, highest precedence first.
    pub(crate) fn merge_sources(&self, entries: &[MapEntry]) -> Vec<NodeId> {
        let mut sources = Vec::new();
        for entry in entries.iter().filter(|entry| entry.merge) {
            let value = self.target(entry.value);
            match &self.node(value).kind {
                YamlNodeKind::List { items, .. } => {
                    sources.extend(items.iter().map(|item| self.target(*item)));
                }
                _ => sources.push(value),
            }
        }
        sources
    }
}

impl YamlNode {
    /// Returns the start of the node, including its anchor and tag.
    pub(crate) fn full_start(&self) -> usize {
        let properties = [&self.anchor, &self.tag];
        let starts = properties.into_iter().flatten().map(|range| range.start);
        starts.fold(self.start, usize::min)
    }

    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.end.max(self.start)
    }
}

struct TreeBuilder {
    tree: YamlTree,
    stack: Vec<OpenNode>,
    anchors: HashMap<usize, NodeId>,
    documents: usize,
}

struct OpenNode {
    node: NodeId,
    /// The key whose value comes next.
    key: Option<PendingKey>,
    /// Where each name was defined, to reject duplicates.
    names: HashMap<String, usize>,
}

struct PendingKey {
    node: NodeId,
    name: String,
    merge: bool,
}

impl TreeBuilder {
    fn new(end: usize) -> Self {
        Self {
            tree: YamlTree { nodes: Vec::new(), root: None, comments: Vec::new(), end },
            stack: Vec::new(),
            anchors: HashMap::new(),
            documents: 0,
        }
    }

    fn on_event(&mut self, event: Event<'_>, span: &Span) -> Result<(), SpannedProblem> {
        let at = span.byte_range().unwrap_or(0..0);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(SpannedProblem::new(at, "a second document starts here")
                        .hint("the configuration is one document: remove the `---` line"));
                }
            }
            Event::DocumentEnd if !at.is_empty() => self.tree.end = at.start,
            Event::Comment(..) => self.tree.comments.push(at),
            Event::Anchor(id, _) => {
                if let Some(node) = self.anchors.get(&id) {
                    self.tree.nodes[*node].anchor = Some(at);
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar::resolve(&text, style, tag.as_deref()).map_err(|expected| {
                    SpannedProblem::new(at.clone(), format!("the tag requires {expected}"))
                        .hint("remove the tag, or change the value")
                })?;
                let merge = text == "<<" && style == ScalarStyle::Plain && tag.is_none();
                let kind = YamlNodeKind::Scalar { value, style };
                let node = self.add(kind, span, anchor)?;
                self.attach(node, Some((text.into_owned(), merge)))?;
            }
            Event::SequenceStart(style, anchor, _) => {
                let flow = style == StructureStyle::Flow;
                let items = Vec::new();
                self.open(YamlNodeKind::List { flow, items }, span, anchor)?;
            }
            Event::MappingStart(style, anchor, _) => {
                let flow = style == StructureStyle::Flow;
                let entries = Vec::new();
                self.open(YamlNodeKind::Map { flow, entries }, span, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(frame) = self.stack.pop() {
                    let node = &mut self.tree.nodes[frame.node];
                    node.end = at.end;
                    node.open = false;
                }
            }
            Event::Alias(id) => self.on_alias(id, span)?,
            _ => {}
        }
        Ok(())
    }

    fn on_alias(&mut self, id: usize, span: &Span) -> Result<(), SpannedProblem> {
        let at = span.byte_range().unwrap_or(0..0);
        let Some(&target) = self.anchors.get(&id) else {
            return Err(SpannedProblem::new(at, "this alias refers to an undefined anchor"));
        };
        let target_node = self.tree.node(target);
        if target_node.open {
            return Err(SpannedProblem::new(at, "this alias refers to the value it is part of")
                .hint("a value cannot contain itself: write it out"));
        }
        let name = match &target_node.kind {
            YamlNodeKind::Scalar { value, .. } => Some((plain_text(value), false)),
            _ => None,
        };
        let node = self.add(YamlNodeKind::Alias(target), span, 0)?;
        self.attach(node, name)
    }

    fn open(
        &mut self,
        kind: YamlNodeKind,
        span: &Span,
        anchor: usize,
    ) -> Result<(), SpannedProblem> {
        let node = self.add(kind, span, anchor)?;
        if self.stack.len() >= MAX_DEPTH {
            let at = self.tree.node(node).range();
            return Err(too_deep(at));
        }
        self.attach(node, None)?;
        self.tree.nodes[node].open = true;
        self.stack.push(OpenNode { node, key: None, names: HashMap::new() });
        Ok(())
    }

    fn add(
        &mut self,
        kind: YamlNodeKind,
        span: &Span,
        anchor: usize,
    ) -> Result<NodeId, SpannedProblem> {
        let at = span.byte_range().unwrap_or(0..0);
        if self.tree.nodes.len() >= MAX_NODES {
            return Err(too_many(at));
        }
        let node = self.tree.nodes.len();
        self.tree.nodes.push(YamlNode {
            kind,
            start: at.start,
            end: at.end,
            anchor: None,
            tag: span.tag_span().and_then(|tag| tag.byte_range()),
            open: false,
        });
        if anchor != 0 {
            self.anchors.insert(anchor, node);
        }
        Ok(node)
    }

    /// Adds a finished or opened node where its parent expects one; `name` is
    /// its name if it is a key.
    fn attach(&mut self, node: NodeId, name: Option<(String, bool)>) -> Result<(), SpannedProblem> {
        let Some(frame) = self.stack.last_mut() else {
            self.tree.root = Some(node);
            return Ok(());
        };
        let at = self.tree.nodes[node].range();
        match &mut self.tree.nodes[frame.node].kind {
            YamlNodeKind::List { items, .. } => items.push(node),
            YamlNodeKind::Map { entries, .. } => match frame.key.take() {
                Some(key) => entries.push(MapEntry {
                    name: key.name,
                    merge: key.merge,
                    key: key.node,
                    value: node,
                }),
                None => {
                    let Some((name, merge)) = name else {
                        return Err(SpannedProblem::new(at, "a key cannot be a list or a mapping")
                            .hint("put quotes around the key"));
                    };
                    if let Some(first) = frame.names.insert(name.clone(), at.start) {
                        return Err(SpannedProblem::new(
                            at,
                            format!("the key `{name}` is given twice"),
                        )
                        .related(first)
                        .hint("keep one of the two"));
                    }
                    frame.key = Some(PendingKey { node, name, merge });
                }
            },
            YamlNodeKind::Scalar { .. } | YamlNodeKind::Alias(_) => {}
        }
        Ok(())
    }
}

pub(crate) fn too_deep(at: Range<usize>) -> SpannedProblem {
    SpannedProblem::new(at, format!("this is nested more than {MAX_DEPTH} levels deep"))
        .hint("no setting is nested that deeply; is this the right file?")
}

pub(crate) fn too_many(at: Range<usize>) -> SpannedProblem {
    SpannedProblem::new(
        at,
        format!("the document has more than {MAX_NODES} values, with aliases expanded"),
    )
    .hint("use fewer aliases, or check that this is the right file")
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
