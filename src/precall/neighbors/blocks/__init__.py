"""Random blocks of the samples, and what is found in each of them."""
