"""The etcd gateway: wire types, channels, calls, watches, and an etcd of our own where there is none."""
