"""Who is near whom: what is asked, what was found, and the one driver that asks the engines."""
