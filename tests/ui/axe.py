"""axe-core in a page: what it finds that keeps people out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright import sync_api

_SCRIPT = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"
_RUN = """
async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  const described = ({ target, failureSummary }) => `${target.flat().join(" >> ")}: ${failureSummary}`;
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, impact, nodes }) => `${id} (${impact})\\n${nodes.map(described).join("\\n")}`);
}
"""


def violations(page: sync_api.Page) -> list[str]:
    """Every serious or critical violation on the page, open shadow roots included, in words.

    Skips the test where axe-core isn't installed, but never in CI.
    """
    if not _SCRIPT.exists() and not os.environ.get("CI"):
        pytest.skip("axe-core is not installed: npm ci --prefix tests")
    if not page.evaluate("'axe' in window"):
        page.evaluate(_SCRIPT.read_text(encoding="utf-8"))
    found: list[str] = page.evaluate(_RUN)
    return found
