"""Measures the product: speed, quality, and whether it holds under load, damage and hostile input."""
