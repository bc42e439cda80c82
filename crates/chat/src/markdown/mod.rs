//! Streaming Markdown: splits text into complete blocks and renders them as
//! rows.

mod blocks;
mod render;
mod table;

pub(crate) use blocks::{BlockSplitter, MarkdownBlock};
pub(crate) use render::render;

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
