"""Which request owns which KV block: the pool, and the changes that one iteration makes to it.

The pool hands out units. Paged, a unit is one block. Contiguous, a unit is a run of blocks next to
each other that holds `max_model_len` tokens, reserved whole at admission: blocks left over at the
end of the pool are never used.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice

from minibatch.scheduling.config import SchedulerConfig


def blocks_for(num_tokens: int, block_size: int) -> int:
    """Blocks that hold `num_tokens` tokens."""
    return -(-num_tokens // block_size)


class KVPool:
    """Free units of the pool, last freed first out.

    Attributes:
        unit: blocks handed out together.
        free_units: id of the first block of each free unit.
    """

    def __init__(self, config: SchedulerConfig) -> None:
        self.block_size = config.block_size
        self.num_blocks = config.num_kv_blocks
        self.paged = config.kv_layout == "paged"
        self.unit = 1 if self.paged else blocks_for(config.max_model_len, config.block_size)
        self.free_units = list(range(0, self.num_blocks - self.unit + 1, self.unit))[::-1]

    @property
    def num_free(self) -> int:
        """Free blocks that can be handed out."""
        return len(self.free_units) * self.unit

    @property
    def num_held(self) -> int:
        """Blocks that a request owns; those left over at the end are never owned."""
        return (self.num_blocks // self.unit - len(self.free_units)) * self.unit

    def max_blocks(self, num_tokens: int) -> int:
        """Blocks that a request of `num_tokens` tokens holds at its largest."""
        return blocks_for(num_tokens, self.block_size) if self.paged else self.unit

    def settle(self, builder: KVChanges) -> None:
        """Make true what `builder` took and gave back."""
        if builder.num_taken:
            del self.free_units[-builder.num_taken :]
        self.free_units.extend(builder.returned)

    def take(self, num_units: int) -> list[int]:
        """The first block of each of so many units, in the order in which they are handed out."""
        rest = len(self.free_units) - num_units
        taken = self.free_units[rest:][::-1]
        del self.free_units[rest:]
        return taken

    def release(self, block_table: Sequence[int]) -> None:
        self.free_units.extend(block_table[:: self.unit])

    def resize(self, num_blocks: int, held: Sequence[int]) -> None:
        """Have `num_blocks` from now on; `held`, the blocks that have an owner, stay where they are.

        The free units with the highest numbers go. New ones are handed out after all old ones.
        """
        firsts = held[:: self.unit]
        change = num_blocks // self.unit - len(firsts) - len(self.free_units)
        if change < 0:
            gone = set(sorted(self.free_units)[change:])
            self.free_units = [first for first in self.free_units if first not in gone]
        else:
            known = {*firsts, *self.free_units}
            unused = (first for first in count(0, self.unit) if first not in known)
            self.free_units = [*islice(unused, change)][::-1] + self.free_units
        self.num_blocks = num_blocks


class KVChanges:
    """What one iteration would take from the pool; the pool itself stays as it is."""

    def __init__(self, pool: KVPool) -> None:
        self.pool = pool
        self._block_size = pool.block_size
        self.num_taken = 0
        self.returned: list[int] = []

    @property
    def num_free(self) -> int:
        return (len(self.pool.free_units) - self.num_taken + len(self.returned)) * self.pool.unit

    @property
    def num_held(self) -> int:
        """Blocks that would be owned."""
        return self.pool.num_held + (self.num_taken - len(self.returned)) * self.pool.unit

    def missing(self, num_held: int, num_tokens: int) -> int:
        """Blocks to add to `num_held` so that `num_tokens` tokens fit."""
        if num_tokens <= num_held * self._block_size:
            return 0
        return blocks_for(num_tokens, self._block_size) - num_held if self.pool.paged else self.pool.unit

    def room(self, num_held: int) -> int:
        """Tokens that fit into `num_held` blocks and all free ones."""
        return (num_held + self.num_free) * self.pool.block_size

    def can_append(self, num_held: int, num_tokens: int, keep: int = 0) -> bool:
        """Whether `append` would succeed and leave `keep` blocks free."""
        missing = self.missing(num_held, num_tokens)
        return not missing or missing + keep <= self.num_free

    def append(self, num_held: int, num_tokens: int) -> list[int]:
        """Take the missing blocks; call only where `can_append`."""
        missing = self.missing(num_held, num_tokens)
        if not missing:
            return []
        if self.pool.unit == 1 and not self.returned:
            self.num_taken += missing
            units = self.pool.free_units
            return units[-self.num_taken : len(units) - self.num_taken + missing][::-1]
        blocks: list[int] = []
        for _ in range(missing // self.pool.unit):
            if self.returned:
                first = self.returned.pop()
            else:
                self.num_taken += 1
                first = self.pool.free_units[-self.num_taken]
            blocks.extend(range(first, first + self.pool.unit))
        return blocks

    def release(self, block_table: Sequence[int]) -> None:
        self.returned.extend(block_table[:: self.pool.unit])
