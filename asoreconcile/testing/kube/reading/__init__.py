"""From the store to the client: get, list and watch, selectors, pages, Tables."""
