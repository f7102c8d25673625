"""Rows of a set that are compared among themselves, group by group."""
