"""Speed and memory, side by side with a bare matrix product and with other programs."""
