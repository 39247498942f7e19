"""The replica's view of etcd: one watch over the prefix, and a cache with listeners for each kind."""
