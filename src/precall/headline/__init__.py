"""The numbers to look at first: who is outside of whose support, and what is too rare."""
