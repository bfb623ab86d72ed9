"""The server: `streamlit run app.py`. It answers once the pages are loaded: no visitor waits for that."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from streamlit.starlette import App

from minibatch.paths import ROOT


@asynccontextmanager
async def prepared(app: App) -> AsyncIterator[None]:
    from minibatch.ui.warm_up import warm_up  # here: the processes of a sweep import this file as they start

    warm_up()
    yield


app = App(ROOT / "minibatch" / "ui" / "script.py", lifespan=prepared)
