"""Results that were kept: whether one is worse than another, and how they go on over time."""
