"""From inputs to features: workers that read, a network that computes, a cache that remembers."""
