"""The daemon `lockd`: the lock as a gRPC service for programs in any language (`lockd serve`)."""
