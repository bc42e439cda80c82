//! What files were before they were changed, so that it can be undone.
