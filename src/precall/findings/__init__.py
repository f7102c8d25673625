"""What is wrong: single samples, modes, and the diagnosis in words."""
