// The home screen of a phone: icons of apps, two of which open sites of the sample.

const APPS = [
  ["Fernhollow", "#1d5c4a", "M16 20l24-6 24 6v44l-24-6-24 6zM40 14v44", "https://library.example/"],
  ["Lanternhall", "#ffb703", "M26 22h28l8 40H18zM32 22v-8h16v8", "https://tickets.example/"],
  ["Messages", "#2a7de1", "M14 18h52v34H36L24 64V52H14z", ""],
  ["Calendar", "#c1440e", "M16 20h48v44H16zM16 32h48M28 14v10M52 14v10", ""],
  ["Photos", "#7d4fa8", "M14 60l18-26 12 16 8-10 14 20zM54 18a7 7 0 1 0 .1 0", ""],
  ["Weather", "#3f8fb5", "M22 56h36a12 12 0 0 0 0-24 18 18 0 0 0-34 4 10 10 0 0 0-2 20", ""],
  ["Notes", "#8a7a2f", "M20 14h40v52H20zM28 28h24M28 38h24M28 48h14", ""],
  ["Clock", "#40464f", "M40 16a24 24 0 1 0 .1 0M40 26v16l10 8", ""],
  ["Settings", "#5b6770", "M40 28a12 12 0 1 0 .1 0M40 14v10M40 56v10M14 40h10M56 40h10", ""],
].map(([name, colour, path, address], id) => ({ id, name, colour, path, address }));
const TIPS = ["Swipe up for more apps", "Hold an icon to move or remove it", "Two alarms are set for tomorrow"];
site.state = { menu: undefined, gone: [], widgets: true };

const icon = (app) => `<li><button type="button" class="app" data-do="open" data-id="${app.id}"><svg viewBox="0 0 80 80" width="62" height="62" aria-hidden="true"><rect width="80" height="80" rx="18" fill="${app.colour}"/><path d="${app.path}" fill="none" stroke="#fff" stroke-width="5" stroke-linejoin="round"/></svg><span>${app.name}</span></button></li>`;
const menu = (app) => `<div class="menu" role="menu"><b>${app.name}</b><button type="button" data-do="open" data-id="${app.id}">Open</button><button type="button" data-do="about" data-id="${app.id}">App info</button><button type="button" data-do="remove" data-id="${app.id}">Remove from home screen</button></div>`;

site.routes["/"] = () => ({ title: "Home", body: `<p class="day"><b>Wednesday, 13 May</b><span>14 degrees, light rain</span></p>${site.state.widgets ? `<div class="card"><h2>Today</h2><p>${TIPS[1]}</p><button type="button" class="small" data-do="hide">Dismiss</button></div>` : ""}<ul class="apps">${each(APPS.filter((app) => !site.state.gone.includes(app.id)), icon)}</ul>${site.state.menu === undefined ? "" : menu(APPS[site.state.menu])}` });
site.routes["/info"] = ({ id }) => ({ title: "App info", body: `<h1>${APPS[id].name}</h1><div class="card"><h2>Storage</h2><p>${14 + Number(id) * 9} MB used</p></div><div class="card"><h2>Notifications</h2><p>On for this app</p></div><div class="card"><h2>Permissions</h2><p>No permissions asked for</p></div>` });

Object.assign(site.actions, {
  open: ({ id }) => { site.state.menu = undefined; if (APPS[id].address) location.assign(APPS[id].address); },
  about: ({ id }) => { site.state.menu = undefined; return url("/info", { id }); },
  remove: ({ id }) => { site.state.gone.push(Number(id)); site.state.menu = undefined; },
  hide: () => { site.state.widgets = false; },
});
// A long press asks for the menu of an icon, as a right button does elsewhere.
document.addEventListener("contextmenu", (event) => {
  const app = event.target.closest(".app");
  if (!app) return;
  event.preventDefault();
  site.state.menu = Number(app.dataset.id);
  show();
});
