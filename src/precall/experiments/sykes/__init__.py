"""The experiments of Sykes et al. 2024."""
