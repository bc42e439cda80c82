//! Settings: the home folder, config.yaml, environment variables, and edits that keep what they do not touch.
