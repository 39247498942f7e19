"""The journal of a run: what was done, what was measured, what held; and the forms in which it is shown."""
