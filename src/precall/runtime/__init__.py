"""Threads, progress, atomic output, refusals, and how a call is written down."""
