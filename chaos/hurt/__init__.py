"""One-off faults on a running cluster: the command `chaosctl hurt`."""
