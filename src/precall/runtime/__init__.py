"""Threads, progress, atomic output, and how a call is written down."""
