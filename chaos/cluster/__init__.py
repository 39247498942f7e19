"""Clusters that can be hurt: real etcd members and replicas, as processes."""
