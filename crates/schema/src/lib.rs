//! JSON Schema at work: repair argument text, coerce, validate, translate to provider dialects.
