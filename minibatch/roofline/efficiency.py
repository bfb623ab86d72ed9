"""How much of its ceilings a device reaches, by operator, and what an iteration costs beside them."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Shares of the two ceilings that each kind of operator reaches; all 1 is the bare roofline.

    The kinds are those of `costs.operators`; looking up embeddings counts as reading in "linear". A
    share above 1 is possible: ceilings are measured, and a small model's weights may stay in a cache.

    Attributes:
        linear_compute, attention_compute, lm_head_compute: of peak FLOP/s.
        linear_memory, attention_memory, lm_head_memory: of peak bytes/s.
        step_ns: fixed cost of an iteration, nanoseconds.
        seq_ns: fixed cost of each sequence in it, nanoseconds.
        batch_ns: further fixed cost of one that computes more than one position, nanoseconds: kernels
            wake threads, and matrix products lay their weights out for several rows.
        source: "none: the bare roofline", or what it was fitted to.

    Raises:
        ValueError: a share is not positive, or a cost is negative.
    """

    linear_compute: float = 1.0
    linear_memory: float = 1.0
    attention_compute: float = 1.0
    attention_memory: float = 1.0
    lm_head_compute: float = 1.0
    lm_head_memory: float = 1.0
    step_ns: float = 0.0
    seq_ns: float = 0.0
    batch_ns: float = 0.0
    source: str = "none: the bare roofline"

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_ns"):
                if not 0 <= value < float("inf"):
                    raise ValueError(f"{field.name} is {value}: use 0 or a positive number of nanoseconds")
            elif field.name != "source" and not 0 < value < float("inf"):
                raise ValueError(f"{field.name} is {value}: use a positive share of the ceiling")

    def compute(self, operator: str) -> float:
        """Share of peak FLOP/s that an operator of `costs.operators` reaches."""
        return {"attention": self.attention_compute, "lm_head": self.lm_head_compute}.get(operator, self.linear_compute)

    def memory(self, operator: str) -> float:
        """Share of peak bytes/s that it reaches."""
        return {"attention": self.attention_memory, "lm_head": self.lm_head_memory}.get(operator, self.linear_memory)


BARE = Efficiency()
