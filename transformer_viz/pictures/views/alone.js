// Streamlit tells the page around it all that it does. Where it stands alone it tells itself, and looks each message up in
// a list of hosts, which takes a tenth of the time until an answer is drawn.

/** Keep such messages from being sent; a listener could not end them, as Streamlit's own is called first. */
export function withholdOwnMessages() {
  if (window.parent !== window) return;
  const post = window.postMessage.bind(window);
  window.postMessage = (/** @type {any} */ message, /** @type {any[]} */ ...rest) => {
    if (message?.stCommVersion === undefined) post(message, ...rest);
  };
}
