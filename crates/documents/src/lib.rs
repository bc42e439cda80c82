//! The text of notebooks, office documents and PDFs, within bounds.
