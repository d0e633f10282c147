"""Special cases of storage: Storage accounts."""
