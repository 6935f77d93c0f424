"""Final routers as the kernel made them, item by item."""

from threading import Lock

import numpy as np
import pytest

from jaxbench.engine import Cell, ChunkOutcome, Evaluator, kernel, run
from jaxbench.engine import call as call_room


def final_routes(evaluator: Evaluator) -> tuple[list[ChunkOutcome], dict, dict]:
    """Run all trials: outcomes, `(condition, trial, item) -> route per budget`, and differences.

    A route is True where the item goes to endpoint A; only items with a slot have one. The third
    maps `(condition, trial, item)` to the endpoints' difference there.
    """
    routes, differences = {}, {}
    real_call, real_kernel = call_room.run_call, kernel.attack_rows
    one_at_a_time = Lock()

    def call(pieces, frame, shared):
        with one_at_a_time:
            return call_alone(pieces, frame, shared)

    def call_alone(pieces, frame, shared):
        kept = {}

        def keeping(rows, *args, **static):
            outcomes = real_kernel(rows, *args, **static, keep_routes=True)
            kept["routes"] = np.asarray(outcomes.routes)
            kept["apart"] = np.asarray(rows.public) + np.asarray(rows.private)
            return outcomes._replace(routes=None)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "attack_rows", keeping)
            outcomes = real_call(pieces, frame, shared)
        row = 0
        for chunk, layout, here in pieces:
            for place in here:
                items = layout.items[chunk.layout_of_trial[place]]
                for condition, view in enumerate(chunk.view_of):
                    for slot in np.flatnonzero(items >= 0):
                        key = condition, int(chunk.trials[place]), int(items[slot])
                        routes[key] = kept["routes"][:, row, condition, slot]
                        differences[key] = int(kept["apart"][row, view, slot])
                row += 1
        return outcomes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(call_room, "run_call", call)
        outcomes = list(run.run_cell(Cell(evaluator)))
    return outcomes, routes, differences
