"""Special cases of app: Container Apps."""
