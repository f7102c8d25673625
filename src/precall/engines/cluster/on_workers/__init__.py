"""What runs on workers: orders are carried out, and rows held for them."""
