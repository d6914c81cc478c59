"use strict";
// What every site shares: a router, named actions and remembered form fields. Pages are drawn at once
// and in place, without a server, a clock or chance, so a click has had its whole effect when it returns.

const site = { state: {}, fields: {}, routes: {}, actions: {}, frame: (page) => page.body };

const esc = (text) =>
  String(text).replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
const each = (items, draw) => items.map(draw).join("");
const options = (names, chosen) =>
  each(names, (name) => `<option${name === chosen ? " selected" : ""}>${esc(name)}</option>`);
const params = () => Object.fromEntries(new URLSearchParams(location.search));
const url = (path, values) => `${path}?${new URLSearchParams(values)}`;
const has = (words, text) =>
  words.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));

function go(target) {
  history.pushState(null, "", target);
  show();
  window.scrollTo(0, 0);
}

function show() {
  const draw = site.routes[location.pathname] ?? site.routes["/"];
  const page = draw(params());
  document.title = page.title;
  document.body.innerHTML = site.frame(page);
  restore();
  bind();
}

const fieldKey = (field) => `${location.pathname}${location.search} ${field.name} ${field.type === "radio" ? field.value : ""}`;

// A redraw must not lose what the visitor has filled in on this very page.
function restore() {
  for (const field of document.querySelectorAll("input[name], select[name], textarea[name]")) {
    const kept = site.fields[fieldKey(field)];
    if (kept === undefined) continue;
    if (field.type === "checkbox" || field.type === "radio") field.checked = kept;
    else field.value = kept;
  }
}

function remember(field) {
  if (!field.name) return;
  if (field.type === "radio")
    for (const other of document.querySelectorAll(`input[name="${field.name}"]`))
      site.fields[fieldKey(other)] = other.checked;
  else site.fields[fieldKey(field)] = field.type === "checkbox" ? field.checked : field.value;
}

function act(name, values, element) {
  const target = site.actions[name](values, element);
  if (typeof target === "string") go(target);
  else show();
}

// Listeners sit on the elements themselves, as on many real sites, not on the document.
function bind() {
  for (const anchor of document.querySelectorAll("a[href]"))
    anchor.addEventListener("click", (event) => {
      event.preventDefault();
      const target = anchor.getAttribute("href");
      if (target.startsWith("/")) go(target);
    });
  for (const element of document.querySelectorAll("[data-do]")) {
    const name = element.dataset.do;
    if (element.tagName === "FORM")
      element.addEventListener("submit", (event) => {
        event.preventDefault();
        act(name, Object.fromEntries(new FormData(element)), element);
      });
    else element.addEventListener("click", () => act(name, { ...element.dataset }, element));
  }
  for (const element of document.querySelectorAll("[data-change]"))
    element.addEventListener("change", () => act(element.dataset.change, { ...element.dataset }, element));
  for (const element of document.querySelectorAll("[data-typing]"))
    element.addEventListener("input", () => site.actions[element.dataset.typing](element));
  for (const field of document.querySelectorAll("input, select, textarea"))
    field.addEventListener("input", () => remember(field));
}

window.addEventListener("popstate", show);
document.addEventListener("DOMContentLoaded", show);
