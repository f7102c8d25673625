"""What was found and how: frozen, readable, JSON both ways."""
