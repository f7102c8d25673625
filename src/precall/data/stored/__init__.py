"""Features that stay in their files: only the rows that are asked for are ever read."""
