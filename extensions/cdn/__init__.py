"""Special cases of cdn: Azure Front Door and CDN."""
