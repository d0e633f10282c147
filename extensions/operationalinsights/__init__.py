"""Special cases of operationalinsights."""
