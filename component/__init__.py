"""Shared plumbing: time, threads, backoff, logs, telemetry, HTTP endpoints, exit.

It knows neither locks nor scheduling; everything above may use it.
"""
