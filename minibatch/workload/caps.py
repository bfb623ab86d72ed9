"""The `max_tokens` that clients send, apart from how long their answers are."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from minibatch.workload.request import LONGEST_TOKENS, Request

CAP_FORMS = "exact, x4 (four times the length) or fixed:4096"


@dataclass(frozen=True, slots=True)
class Cap:
    """A client's `max_tokens`: `factor` times the true length, or `fixed` whatever it is."""

    factor: float = 1.0
    fixed: int | None = None

    @property
    def words(self) -> str:
        return f"max_tokens {self.fixed:,}" if self.fixed else f"max_tokens {self.factor:g} times the length"

    def of(self, request: Request) -> Request:
        """`request`, whose `max_tokens` was its true length, as a client sends it."""
        length = request.sampling.max_tokens
        cap = min(LONGEST_TOKENS, self.fixed or max(1, math.ceil(length * self.factor)))
        return replace(request, sampling=replace(request.sampling, max_tokens=cap), true_output_tokens=length)


def parse_cap(spec: str) -> Cap | None:
    """The cap of a spec; None for "exact", where each answer is as long as its cap.

    Raises:
        ValueError: the spec is of another form.
    """
    if spec == "exact":
        return None
    if (found := re.fullmatch(r"x(\d{1,9}(?:\.\d{1,9})?)", spec)) and 1 <= float(found[1]) <= 1000:
        return Cap(factor=float(found[1]))
    if (found := re.fullmatch(r"fixed:(\d{1,9})", spec)) and 1 <= int(found[1]) <= LONGEST_TOKENS:
        return Cap(fixed=int(found[1]))
    raise ValueError(f"the cap {spec[:40]!r} is not known: use {CAP_FORMS}, with a factor from 1 to 1,000")


def capped(requests: Sequence[Request], cap: Cap | None) -> list[Request]:
    """`requests` as their clients send them."""
    return list(requests) if cap is None else [cap.of(request) for request in requests]
