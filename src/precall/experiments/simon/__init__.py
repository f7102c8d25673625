"""The experiments of Simon et al. 2019."""
