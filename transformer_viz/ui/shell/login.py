"""Login by OpenID Connect, if a provider is set up in Streamlit's secrets: see docs/en/class.md."""

import streamlit as st

from transformer_viz.ui.shell.language import escaped, t


def admitted() -> bool:
    """Return whether the visitor may see the app; show the login if they must log in first."""
    if getattr(st.user, "is_logged_in", True):  # the attribute exists only if a provider is set up
        return True
    st.header("Transformer Viz", anchor=False)
    st.markdown(t("login.needed"))
    st.button(t("login.button"), icon=":material/login:", type="primary", on_click=st.login, key="login")
    return False


def show_logout() -> None:
    """Show the account and a logout button, if the visitor is logged in."""
    if not getattr(st.user, "is_logged_in", False):
        return
    name = st.user.get("name") or st.user.get("email") or ""
    st.caption(t("login.as", name=escaped(str(name))))
    st.button(t("login.out"), icon=":material/logout:", type="tertiary", on_click=st.logout, key="logout")


def account() -> str:
    """Return the provider's id of the visitor; "" if not logged in."""
    if not getattr(st.user, "is_logged_in", False):
        return ""
    return f"{st.user.get('iss', '')} {st.user.get('sub') or st.user.get('email', '')}"
