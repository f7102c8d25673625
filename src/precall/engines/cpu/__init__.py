"""The CPU engine: integers first, float64 where they leave a doubt."""
