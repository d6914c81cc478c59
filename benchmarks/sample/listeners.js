// Runs before the scripts of a page and notes which elements listen for clicks.
window.__clickListeners = new WeakSet();
const add = EventTarget.prototype.addEventListener;
EventTarget.prototype.addEventListener = function (kind, ...rest) {
  if (["click", "mousedown", "pointerdown"].includes(kind) && this instanceof Element)
    window.__clickListeners.add(this);
  return add.call(this, kind, ...rest);
};
