"""Intervals, bands and tests."""
