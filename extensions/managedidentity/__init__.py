"""Special cases of managedidentity: Managed identities."""
