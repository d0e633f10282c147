"""Special cases of kusto: Azure Data Explorer."""
