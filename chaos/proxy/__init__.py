"""A TCP fault proxy as a process of its own: what networks do to replicas, done on purpose and undone again."""
