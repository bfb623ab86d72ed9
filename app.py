"""The Streamlit entry: `streamlit run app.py`."""

import streamlit as st

from minibatch.ui import compare

st.set_page_config(page_title="Minibatch", layout="wide", initial_sidebar_state=330)
st.navigation([st.Page(compare.page, title="Compare", default=True)], position="top").run()
