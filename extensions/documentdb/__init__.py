"""Special cases of documentdb: Azure Cosmos DB."""
