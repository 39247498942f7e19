"""Preemption: room for pods that matter more, made by those that matter less, with the least harm."""
