"""One search, from request to answer."""
