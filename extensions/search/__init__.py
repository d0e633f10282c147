"""Special cases of search."""
