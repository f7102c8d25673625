"""One pass over all pairs for many questions about the same rows."""
