"""What the user can set: declared in `declare`, read in `load`. Nothing is imported here: `home` alone is light."""
