"""Generated from proto/lockd/v1: change that, then run `make gen`."""
