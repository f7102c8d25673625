"""Exact answers at the speed of float16 products, on any device that torch drives."""
