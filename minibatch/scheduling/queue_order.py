"""In which order waiting requests may enter.

Each order goes through the queue from its head; a policy stops at the first that can't enter, so that none is
overtaken but by this order.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator

from minibatch.scheduling.config import SchedulerConfig
from minibatch.scheduling.request_state import RequestState
from minibatch.workload.request import NANOSECONDS

PROMPT_WEIGHT, OUTPUT_WEIGHT = 1, 2
"""What a token of a prompt and one that is generated count as service: Sheng et al., "Fairness in Serving Large
Language Models" (OSDI 2024), section 4."""


class Service:
    """What each tenant has been served, in weighted tokens."""

    def __init__(self) -> None:
        self._served: dict[str | None, int] = defaultdict(int)

    def __getitem__(self, tenant: str | None) -> int:
        return self._served[tenant]

    def add(self, tenant: str | None, prompt_tokens: int = 0, output_tokens: int = 0) -> None:
        self._served[tenant] += PROMPT_WEIGHT * prompt_tokens + OUTPUT_WEIGHT * output_tokens

    def join(self, tenant: str | None, present: set[str | None]) -> None:
        """A tenant comes back that had no request here: what it left unused while away is no credit.

        Args:
            present: the tenants that have requests here.
        """
        if present and tenant not in present:
            self._served[tenant] = max(self._served[tenant], min(self._served[each] for each in present))


def in_order(waiting: Iterable[RequestState], config: SchedulerConfig, service: Service) -> Iterator[RequestState]:
    """The waiting requests, the one that may enter next first.

    Args:
        waiting: in order of the queue, its head first.
        service: what each tenant was served, for the order "fair".
    """
    match config.queue_order:
        case "fcfs":
            return iter(waiting)
        case "shortest":
            ageing = config.queue_ageing
            return _sorted(waiting, lambda each: (_aged_length(each, ageing), each.request_id))
        case "priority":
            return _sorted(waiting, lambda each: (each.request.priority, each.request_id))
        case _:
            return _fair(waiting, service)


def _sorted(
    waiting: Iterable[RequestState], key: Callable[[RequestState], tuple[float, int]]
) -> Iterator[RequestState]:
    """From a heap: of a long queue, mostly none or one enters."""
    heap = [(key(request), request) for request in waiting]
    heapq.heapify(heap)
    while heap:
        yield heapq.heappop(heap)[-1]


def _aged_length(request: RequestState, ageing: float) -> float:
    """The prompt, less `ageing` tokens for each second of waiting. Now is left out: it is the same for all."""
    return request.num_tokens + ageing * request.request.arrival_ns / NANOSECONDS


def _fair(waiting: Iterable[RequestState], service: Service) -> Iterator[RequestState]:
    """By virtual token counters: next is the tenant that has been served least, by arrival within it."""
    queues: dict[str | None, deque[RequestState]] = defaultdict(deque)
    for request in waiting:
        queues[request.request.tenant].append(request)
    heap = [(service[tenant], queue[0].request_id, tenant) for tenant, queue in queues.items()]
    heapq.heapify(heap)
    while heap:
        served, _, tenant = heapq.heappop(heap)
        request = queues[tenant].popleft()
        yield request
        if queues[tenant]:
            counted = served + PROMPT_WEIGHT * request.num_tokens
            heapq.heappush(heap, (counted, queues[tenant][0].request_id, tenant))
