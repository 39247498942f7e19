"""Benchmarks: how fast a cluster of real processes is, beside what the machine and etcd would allow at most."""
