//! Our tools, served to other programs.
