"""Metrics and traces of a process.

Loaded where ``A2A_METRICS_PATH`` or ``A2A_TRACES`` is set, or the process uses OpenTelemetry.
"""
