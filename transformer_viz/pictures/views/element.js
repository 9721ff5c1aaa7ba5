// An element in one expression.

/** Return a new element with some of its properties set. */
export function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
