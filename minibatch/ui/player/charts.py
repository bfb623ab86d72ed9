"""stub"""
from typing import Any
def chart_specs() -> dict[str, Any]:
    return {}
