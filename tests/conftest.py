"""For all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says something of the machine's load and nothing of the code.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("project")
