"""Data that people drew or photographed, and a generator small enough to be trained on the spot."""
