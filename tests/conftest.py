"""Settings of all tests: random examples by --hypothesis-profile (fast, default, verify); and their marks."""

from __future__ import annotations

import gc
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the cores

import pytest
from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", max_examples=40, deadline=None, suppress_health_check=SLOW)
settings.register_profile("fast", max_examples=10, deadline=None, suppress_health_check=SLOW)
settings.register_profile("verify", max_examples=200, deadline=None, suppress_health_check=SLOW)
settings.load_profile("default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a browser or a GPU, which its fixtures tell; and begin with the files that take long.

    pytest-xdist hands out whole files in this order: the quick ones last let all workers end together.
    """
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
        if "cuda" in getattr(getattr(item, "callspec", None), "params", {}).values():
            item.add_marker(pytest.mark.gpu)
    long = {item.path for item in items if item.get_closest_marker("browser") or item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish() -> None:
    """What is imported by now stays: Python need not look through it for garbage again and again."""
    gc.collect()
    gc.freeze()
