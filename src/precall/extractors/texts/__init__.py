"""Models of texts."""
