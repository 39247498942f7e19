"""The scheduling framework: extension points, profiles, and the runtime that takes a pod through its plugins."""
