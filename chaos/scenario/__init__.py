"""Experiments as people write them: YAML files, read strictly, and nothing but values afterwards."""
