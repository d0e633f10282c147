"""Special cases of dataprotection."""
