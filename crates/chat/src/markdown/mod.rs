//! Markdown as it arrives: cut into blocks that are complete, and these made into rows.

mod blocks;
mod render;
mod table;

pub(crate) use blocks::{BlockSplitter, MarkdownBlock};
pub(crate) use render::render;

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
