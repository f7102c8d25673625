"""What comes in: features, labels, splits, and one reader a format."""
