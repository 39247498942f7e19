"""Messages generated from proto/replica/v1."""
