"""The Streamlit entry: `streamlit run app.py`."""

import streamlit as st

from minibatch.ui import compare, truth

st.set_page_config(page_title="Minibatch", layout="wide", initial_sidebar_state=330)
pages = [
    st.Page(compare.page, title="Compare", default=True),
    st.Page(truth.page, title="How true is this?", url_path="truth"),
]
st.navigation(pages, position="top").run()
