"""Which embedding models exist, and how they are found, downloaded and loaded."""
