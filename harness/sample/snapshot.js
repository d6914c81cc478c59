// Describes the page before an action on `target`, and gives its HTML with the ids of all elements.
// `describe` is put before this (`harness/live/describe.js`).
(target) => {
  const root = document.documentElement;
  const heard = window.__clickListeners ?? new WeakSet();
  const { nodes, ids } = describe({ root, heard, offset: [window.scrollX, window.scrollY] });

  // The element under the pointer, when that is the chosen one or inside it; a drawing counts as one.
  let labelled = target;
  const rect = target.getBoundingClientRect();
  const hit = document.elementFromPoint(rect.x + rect.width / 2, rect.y + rect.height / 2);
  if (hit && target.contains(hit)) labelled = hit.closest("svg") ?? hit;

  for (const [element, id] of ids) element.setAttribute("backend_node_id", id);
  const raw = `<!DOCTYPE html>\n${root.outerHTML}`;
  for (const element of ids.keys()) element.removeAttribute("backend_node_id");
  return { nodes, raw, labelled: ids.get(labelled) };
}
