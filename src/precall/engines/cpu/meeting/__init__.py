"""Two groups of rows that meet, and what rows know from earlier meetings."""
