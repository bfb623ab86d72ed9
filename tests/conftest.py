"""Settings of all tests: few random examples by default, many under --hypothesis-profile=verify."""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the cores

from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", max_examples=40, deadline=None, suppress_health_check=SLOW)
settings.register_profile("verify", max_examples=200, deadline=None, suppress_health_check=SLOW)
settings.load_profile("default")
