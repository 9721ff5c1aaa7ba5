// Streamlit tells the page around it all that it does. Where it stands alone it tells itself, and looks each message up in
// a list of hosts, which takes a tenth of the time until an answer is drawn.

/** End such messages before Streamlit hears them. */
export function endOwnMessages() {
  window.addEventListener(
    "message",
    (event) => {
      const isOwn = event.source === window && window.parent === window;
      if (isOwn && event.data?.stCommVersion !== undefined) event.stopImmediatePropagation();
    },
    true,
  );
}
