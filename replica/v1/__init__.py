"""Generated from proto/replica/v1: change that, then run `make gen`."""
