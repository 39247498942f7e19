"""Events, as people read them: recorded, broadcast, logged and stored."""
