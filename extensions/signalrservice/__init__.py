"""Special cases of signalrservice."""
