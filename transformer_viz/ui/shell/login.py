"""Logging in by OpenID Connect, where a provider is set up in Streamlit's secrets: see README."""

import streamlit as st

from transformer_viz.ui.shell.language import escaped, t


def admitted() -> bool:
    """Return whether the visitor may see the app; one who must log in first is asked to."""
    if getattr(st.user, "is_logged_in", True):  # there is no such attribute where no provider is set up
        return True
    st.header("Transformer Viz", anchor=False)
    st.markdown(t("login.needed"))
    st.button(t("login.button"), icon=":material/login:", type="primary", on_click=st.login, key="login")
    return False


def show_logout() -> None:
    """Say who is logged in, and offer to log out; nothing where no provider is set up."""
    if not getattr(st.user, "is_logged_in", False):
        return
    name = st.user.get("name") or st.user.get("email") or ""
    st.caption(t("login.as", name=escaped(name)))
    st.button(t("login.out"), icon=":material/logout:", type="tertiary", on_click=st.logout, key="logout")


def account() -> str:
    """Return the provider's word for who is logged in; "" for nobody."""
    if not getattr(st.user, "is_logged_in", False):
        return ""
    return f"{st.user.get('iss', '')} {st.user.get('sub') or st.user.get('email', '')}"
