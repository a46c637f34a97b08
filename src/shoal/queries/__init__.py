"""Interactive queries: answers one by one, within a budget that cannot be overspent."""
