"""The experiments of Cheema & Urner 2023."""
