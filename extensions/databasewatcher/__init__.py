"""Special cases of Microsoft.DatabaseWatcher."""
