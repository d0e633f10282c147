"""Special cases of apimanagement."""
