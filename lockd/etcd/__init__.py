"""The etcd gateway: wire types, channels, calls, watches, and an etcd of our own where there is none."""

import os

# gRPC's core writes lines of its own to stderr otherwise, such as one for each failed handshake. It reads this when it
# is imported.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
