"""Special cases of sql: Azure SQL."""
