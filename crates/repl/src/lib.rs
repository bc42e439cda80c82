//! Interpreters that remember: named sessions of Python, Node, bash and SQL.
