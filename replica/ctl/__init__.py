"""The command `replicactl`: objects as kubectl handles them, replicas as patronictl lists them."""
