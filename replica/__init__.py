"""A scheduler replica: it stands by with warm caches, and schedules pods onto nodes while it leads."""
