"""What the first visitor would otherwise wait for: modules that pages import, and what all visitors share."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module

PAGES = ("compare", "lessons", "load", "published", "truth")


def warm_up() -> None:
    """Import the pages, and make the scripts that browsers get, which takes seconds where no earlier start did."""
    from minibatch.ui.player.runtime import vega_runtime

    with ThreadPoolExecutor(1) as other:  # vl-convert works while modules are imported
        bundled = other.submit(vega_runtime)
        for name in PAGES:
            import_module(f"minibatch.ui.{name}.page")
        bundled.result()

    from minibatch.recording.storage import RecordingError
    from minibatch.ui.player.bundle import component_script, lesson_component_script
    from minibatch.ui.player.charts import chart_specs
    from minibatch.ui.shared.knobs import fork_knobs
    from minibatch.ui.shared.sources import bundled_files, open_file, recordings_folder

    component_script()
    lesson_component_script()
    chart_specs()
    fork_knobs()
    inspect.stack()  # Streamlit's first widget asks for it, which looks at the file of every module once
    for path in bundled_files(recordings_folder()):
        with suppress(OSError, RecordingError):  # the page says what is wrong with it
            open_file(path)
