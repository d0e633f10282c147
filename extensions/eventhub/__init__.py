"""Special cases of eventhub: Event Hubs."""
