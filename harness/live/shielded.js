// Wraps a node to read the browser's own properties: fields of a form, and forms and pictures of a
// document, hide those of their names. The wrapper is for reading; do not pass it to the browser.
(node) =>
  !(node instanceof HTMLFormElement || node instanceof Document) ? node : new Proxy(node, {
    get(_, name) {
      const found = Reflect.get(Object.getPrototypeOf(node), name, node);
      return typeof found === "function" ? found.bind(node) : found;
    },
  });
