"""The flow from two sets of samples to a result."""
