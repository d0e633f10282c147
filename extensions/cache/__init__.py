"""Special cases of cache: Azure Cache for Redis."""
