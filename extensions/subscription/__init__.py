"""Special cases of subscription."""
