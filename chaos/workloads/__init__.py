"""Who wants something of a cluster under test, and how long it was kept waiting."""
