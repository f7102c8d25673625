"""Exact answers at the speed of half-precision products, on any device that torch drives."""
