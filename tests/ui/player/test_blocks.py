"""The KV map: whose block is whose, and how much of it holds tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minibatch.recording.schema import Recording
from minibatch.scheduling.config import SchedulerConfig
from minibatch.ui.shared.palette import request_colour
from tests.helpers import owner_rows, record, requests_of
from tests.ui.player.conftest import Modules

SIZE = 280

DRAW = """
const {Store} = await load('core/store.js'), {Blocks} = await load('lanes/blocks.js');
const {readTheme} = await load('core/theme.js');
const store = new Store(c), blocks = new Blocks(store, 0);
document.body.replaceChildren(blocks.element);
blocks.prepare(readTheme(document.body, c.words), argument.size, argument.size);
blocks.draw(argument.i, argument.lit ?? -1);
const {size, columns, surface} = blocks, {ratio, context} = surface;
// In each cell the pixels of its left half, from top to bottom: the part that is filled.
return [...Array(c.runs[0].numBlocks).keys()].map((block) => {
  const x = (block % columns) * size, y = Math.floor(block / columns) * size;
  const at = (down) => [...context.getImageData((x + size * 0.4) * ratio, (y + down) * ratio, 1, 1).data];
  const inner = Array.from({length: Math.floor(size) - 4}, (_, k) => at(k + 2).join());
  return {middle: at(size - 5), inner, found: blocks.at(argument.i, x + 1, y + 1)};
});
"""


def drawn(player: Modules, recording: Recording, i: int, lit: int = -1) -> list[dict[str, Any]]:
    return player.load([recording]).run(DRAW, {"i": i, "size": SIZE, "lit": lit})


def rgb(colour: str) -> list[int]:
    return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]


def share_filled(cell: dict[str, Any], request: int) -> float:
    full = ",".join(map(str, [*rgb(request_colour(request)), 255]))
    return sum(pixel == full for pixel in cell["inner"]) / len(cell["inner"])


def owners(recording: Recording, i: int) -> list[int]:
    found = np.full(recording.num_kv_blocks, -1)
    for iteration, block, owner in owner_rows(recording):
        if iteration <= i:
            found[block] = owner
    return found.tolist()


@pytest.mark.parametrize("layout", ["paged", "contiguous"])
def test_each_block_shows_its_owner_and_how_full_it_is(player: Modules, layout: str) -> None:
    config = SchedulerConfig(max_num_seqs=2, max_model_len=64, block_size=16, num_kv_blocks=12, kv_layout=layout)
    recording = record(requests_of([(20, 10), (8, 10)]), "continuous", config)
    i = 3  # two prompts together, then two decodes: r0 holds 22 or 23 tokens, r1 10 or 11
    entries = recording.entries
    cells, mine = drawn(player, recording, i), owners(recording, i)
    assert [cell["found"]["request"] for cell in cells] == mine
    for request in (0, 1):
        row = np.flatnonzero((entries["iteration"] == i) & (entries["request"] == request))[0]
        tokens = int(entries["start"][row] + entries["tokens"][row])
        table = [block for block, owner in enumerate(mine) if owner == request]
        assert len(table) == (-(-tokens // 16) if layout == "paged" else 4)
        # Both layouts hand out the lowest free blocks first, in order.
        for k, block in enumerate(table):
            wanted = min(1.0, max(0.0, (tokens - 16 * k) / 16))
            assert share_filled(cells[block], request) == pytest.approx(wanted, abs=0.12)
    free = [cell["middle"] for cell, owner in zip(cells, mine, strict=True) if owner < 0]
    assert free
    assert all(pixel == free[0] for pixel in free)


def test_blocks_of_others_fade_where_one_request_is_lit_up(player: Modules) -> None:
    config = SchedulerConfig(max_num_seqs=2, max_model_len=64, block_size=4, num_kv_blocks=16)
    recording = record(requests_of([(8, 10), (8, 10)]), "continuous", config)
    cells, mine = drawn(player, recording, 2, lit=1), owners(recording, 2)
    full = mine.index(1)
    other = mine.index(0)
    assert cells[full]["middle"] == [*rgb(request_colour(1)), 255]
    assert cells[other]["middle"][3] < 100


def test_a_huge_pool_shares_cells(player: Modules) -> None:
    config = SchedulerConfig(max_num_seqs=2, max_model_len=64, block_size=4, num_kv_blocks=100_000)
    recording = record(requests_of([(8, 10)]), "continuous", config)
    script = """
    const {Store} = await load('core/store.js'), {Blocks} = await load('lanes/blocks.js');
const {readTheme} = await load('core/theme.js');
    const blocks = new Blocks(new Store(c), 0);
    document.body.replaceChildren(blocks.element);
    blocks.prepare(readTheme(document.body, c.words), 200, 100);
    blocks.draw(2, -1);
    return [blocks.blocksPerCell, blocks.at(2, 0.4, 0.4).request];
    """
    assert player.load([recording]).run(script) == [49, 0]
