"""Special cases of keyvault: Key vaults."""
