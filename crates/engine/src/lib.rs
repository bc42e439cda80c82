//! Registry, toolsets, the call pipeline, batches, limits and tool search.
