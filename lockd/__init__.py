"""A lease lock on etcd: elections by compare-and-swap, terms with fencing tokens, guarded writes."""
