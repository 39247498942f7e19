"""The daemon `lockd`: the lock as a gRPC service for programs in any language (`lockd serve`)."""

import lockd.etcd  # noqa: F401  # keeps gRPC's core quiet, and must come before anything here imports grpc
