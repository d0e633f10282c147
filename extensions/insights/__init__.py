"""Special cases of insights: Azure Monitor."""
