// A node whose properties are the browser's own: fields of a form, and forms and pictures of a
// document, hide those of their names. To be read from, not to be handed to the browser.
(node) =>
  !(node instanceof HTMLFormElement || node instanceof Document) ? node : new Proxy(node, {
    get(_, name) {
      const found = Reflect.get(Object.getPrototypeOf(node), name, node);
      return typeof found === "function" ? found.bind(node) : found;
    },
  });
