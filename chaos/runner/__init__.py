"""Scenarios carried out: what is decided before, what happens in a trial, what is made of it."""
