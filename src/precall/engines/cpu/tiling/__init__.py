"""Tiles of pairs that are compared in registers."""
