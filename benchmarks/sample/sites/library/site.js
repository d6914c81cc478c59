// Fernhollow Libraries: a public library catalogue with holds and events.

const BRANCHES = ["Central Library", "Millbrook", "Harbour Street", "Quarry Road"];
const BOOKS = [
  ["The Salt Cartographers", "Ines Varga", 2019, "Book", "English", "Fiction", 4, "Two surveyors chart an island that the tide keeps redrawing."],
  ["Bread Without a Clock", "Tomas Ekdahl", 2021, "Book", "English", "Cooking", 2, "Slow doughs for kitchens that are never quite warm enough."],
  ["Bread Without a Clock", "Tomas Ekdahl", 2022, "Audiobook", "English", "Cooking", 1, "Read by the author, with a printable list of recipes."],
  ["Night Trains of the Interior", "Odile Marchetti", 2017, "Book", "English", "Travel", 3, "Eleven sleeper lines and the people who still ride them."],
  ["Nachtzüge", "Odile Marchetti", 2018, "Book", "German", "Travel", 1, "German edition of Night Trains of the Interior."],
  ["A Short History of Glue", "Percival Adeyemi", 2020, "E-book", "English", "Science", 9, "From birch tar to the wings of aircraft."],
  ["Beekeeping on a Balcony", "Marit Solheim", 2016, "Book", "English", "Nature", 0, "One hive, one railing, patient neighbours."],
  ["Beekeeping through the Year", "Joan Tregenza", 2014, "Book", "English", "Nature", 2, "Month by month advice for the first five seasons."],
  ["The Beekeeping Handbook", "Marit Solheim", 2023, "E-book", "English", "Nature", 6, "A reference for swarms, queens and honey law."],
  ["Letters to a Young Plumber", "Gus Oyelaran", 2018, "Book", "English", "Fiction", 5, "A comic novel in forty-one repairs."],
  ["Winter Light, Cheap Lenses", "Hana Kobylka", 2015, "Book", "English", "Art", 1, "Photography in the months when nobody photographs."],
  ["Luz de invierno", "Hana Kobylka", 2017, "Book", "Spanish", "Art", 2, "Spanish edition of Winter Light, Cheap Lenses."],
  ["The Orchard Ledger", "Brigid Fallon", 2022, "Audiobook", "English", "Fiction", 3, "A family, a debt and three hundred apple trees."],
  ["The Orchard Ledger", "Brigid Fallon", 2021, "Book", "English", "Fiction", 0, "Winner of the Coldwater Prize for a first novel."],
  ["Knots You Will Forget", "Anselm Dreyer", 2013, "DVD", "English", "Sport", 2, "Six lessons filmed on a very small boat."],
  ["Counting Sheep Properly", "Wilma Acheson", 2020, "Book", "English", "Science", 4, "Statistics for people who keep animals."],
].map(([title, author, year, format, language, subject, free, note], id) =>
  ({ id, title, author, year, format, language, subject, free, note }));
const EVENTS = [
  ["Story time for under fives", "Tuesdays 10:00", "Millbrook", "Songs, puppets and one very loud bear."],
  ["Beekeeping evening", "Thursday 14 May, 18:30", "Central Library", "Marit Solheim answers questions about swarms."],
  ["Repair café", "Saturday 16 May, 11:00", "Quarry Road", "Bring a lamp, a zip or a toaster."],
  ["Family history helpdesk", "Monday 18 May, 14:00", "Harbour Street", "Help with parish registers and ship lists."],
  ["Chess for beginners", "Wednesday 20 May, 17:00", "Central Library", "Boards and tea provided."],
];
site.state = { cookies: false, filters: {}, list: [], holds: [] };

const cover = (book, size) => `<svg class="cover" width="${size}" height="${Math.round(size * 1.45)}" viewBox="0 0 40 58" role="img" aria-label="Cover of ${esc(book.title)}">
<rect width="40" height="58" fill="hsl(${(book.id * 53) % 360} 42% 42%)"/><rect x="4" y="8" width="32" height="12" fill="#f6efe0"/><circle cx="20" cy="40" r="${6 + (book.id % 5)}" fill="hsl(${(book.id * 53 + 150) % 360} 50% 62%)"/></svg>`;

site.frame = (page) => `
${site.state.cookies ? "" : `<div class="cookies" role="dialog" aria-label="Cookies"><p>We use cookies to remember your branch and to count visits. Read more in <a href="/about">our cookie notice</a>.</p><button type="button" data-do="cookies">Accept all</button><button type="button" class="plain" data-do="cookies">Only necessary</button></div>`}
<header><a class="brand" href="/"><svg width="34" height="34" viewBox="0 0 34 34" aria-hidden="true"><path d="M4 8l13-4 13 4v22l-13-4-13 4z" fill="#e9b44c"/><path d="M17 4v22" stroke="#23423a" stroke-width="2"/></svg><span>Fernhollow<br>Libraries</span></a>
<nav aria-label="Main"><ul><li><a href="/search">Catalogue</a></li><li><a href="/events">Events</a></li><li><a href="/hours">Opening hours</a></li><li><a href="/list">My list (${site.state.list.length})</a></li><li><a href="/account">Sign in</a></li></ul></nav></header>
<form class="searchbar" data-do="search" role="search"><label for="scope">Search in</label><select id="scope" name="scope">${options(["Keyword", "Title", "Author", "Subject"], params().scope)}</select><input name="q" placeholder="Search the catalogue" aria-label="Search the catalogue" value="${esc(params().q ?? "")}"><button type="submit">Search</button><a href="/search">Advanced search</a></form>
<main>${page.body}</main>
<footer><div><h4>Visit</h4><ul>${each(BRANCHES, (name) => `<li><a href="/hours">${name}</a></li>`)}</ul></div><div><h4>Borrow</h4><ul><li><a href="/about">Join the library</a></li><li><a href="/about">Place a hold</a></li><li><a href="/about">Renew online</a></li><li><a href="/about">Audiobook app</a></li></ul></div><div><h4>Take part</h4><ul><li><a href="/events">Events</a></li><li><a href="/about">Volunteer</a></li><li><a href="/about">Suggest a purchase</a></li></ul></div><p>Fernhollow Town Council, 4 Weir Lane. Tell us what you think of the catalogue.</p></footer>`;

const entry = (book) => `<li class="entry">${cover(book, 74)}<div class="what"><h3><a href="/item?id=${book.id}">${esc(book.title)}</a></h3><p class="by">${esc(book.author)}, ${book.year}</p><p>${esc(book.note)}</p><p><span class="tag">${book.format}</span> <span class="tag">${book.language}</span> <span class="tag">${book.subject}</span></p></div>
<div class="do"><strong class="${book.free ? "in" : "out"}">${book.free ? `${book.free} available` : "On loan"}</strong><a class="button" href="/hold?id=${book.id}"><span>Place hold</span></a><button type="button" class="plain" data-do="keep" data-id="${book.id}">${site.state.list.includes(book.id) ? "On my list" : "Add to list"}</button></div></li>`;

site.routes["/"] = () => ({ title: "Fernhollow Libraries", body: `
<section class="hero"><div><h1>Borrow something you did not come for</h1><p>Four branches, ninety thousand items and one very patient website. Search the catalogue above or start with the shelves below.</p><a class="button" href="/search?subject=Nature">Browse nature</a></div><div class="notice"><h2>This week</h2><p>Harbour Street closes at noon on Friday. Holds can be moved to Quarry Road.</p><a href="/hours">Opening hours</a></div></section>
<h2>New on the shelves</h2><ul class="shelf">${each(BOOKS.slice(0, 8), (book) => `<li><a href="/item?id=${book.id}">${cover(book, 96)}<b>${esc(book.title)}</b><i>${esc(book.author)}</i></a></li>`)}</ul>
<h2>Coming up</h2><ul class="events">${each(EVENTS.slice(0, 3), (event) => `<li><b>${event[0]}</b><span>${event[1]}, ${event[2]}</span><a href="/events">Details</a></li>`)}</ul>
<h2>Browse by subject</h2><ul class="chips">${each(["Art", "Cooking", "Fiction", "Nature", "Science", "Sport", "Travel"], (name) => `<li><a href="/search?subject=${name}">${name}</a></li>`)}</ul>` });

const FACETS = [["format", "Format"], ["language", "Language"], ["subject", "Subject"]];
site.routes["/search"] = ({ q = "", scope = "Keyword", subject }) => {
  const chosen = site.state.filters;
  if (subject) chosen[`subject ${subject}`] = true;
  const text = (book) => scope === "Title" ? book.title : scope === "Author" ? book.author : scope === "Subject" ? book.subject : Object.values(book).join(" ");
  let found = BOOKS.filter((book) => has(q, text(book)));
  for (const [key] of FACETS) {
    const wanted = Object.keys(chosen).filter((name) => chosen[name] && name.startsWith(`${key} `)).map((name) => name.slice(key.length + 1));
    if (wanted.length) found = found.filter((book) => wanted.includes(book[key]));
  }
  if (chosen.sort === "Newest first") found.sort((a, b) => b.year - a.year || a.id - b.id);
  if (chosen.sort === "Title A to Z") found.sort((a, b) => a.title.localeCompare(b.title) || a.id - b.id);
  return { title: "Catalogue", body: `<p class="crumbs"><a href="/">Home</a> / <span>Catalogue</span>${q ? ` / <span>${esc(q)}</span>` : ""}</p><h1>${found.length} results${q ? ` for “${esc(q)}”` : ""}</h1>
<div class="columns"><aside><h2>Narrow by</h2>${each(FACETS, ([key, label]) => `<fieldset><legend>${label}</legend>${each([...new Set(BOOKS.map((book) => book[key]))], (name) => `<label><input type="checkbox" data-change="filter" data-name="${key} ${name}"${chosen[`${key} ${name}`] ? " checked" : ""}> ${name}</label>`)}</fieldset>`)}</aside>
<div><p class="tools"><label for="sort">Sort by</label><select id="sort" data-change="sort">${options(["Relevance", "Newest first", "Title A to Z"], chosen.sort)}</select><span>Showing all results on one page</span></p><ol class="entries">${each(found, entry)}</ol>${found.length ? "" : "<p>Nothing matches. Try fewer words.</p>"}<p class="tip">Could not find it? <a href="/about">Suggest a purchase</a> or <a href="/about">place a hold</a> through another library.</p></div></div>` };
};

site.routes["/item"] = ({ id }) => {
  const book = BOOKS[id];
  const kin = BOOKS.filter((other) => other.id !== book.id && (other.author === book.author || other.subject === book.subject)).slice(0, 4);
  return { title: book.title, body: `<p class="crumbs"><a href="/">Home</a> / <a href="/search">Catalogue</a> / <span>${esc(book.title)}</span></p><div class="item">${cover(book, 180)}<div><h1>${esc(book.title)}</h1><p class="by">by <a href="${url("/search", { q: book.author, scope: "Author" })}">${esc(book.author)}</a></p><p>${esc(book.note)}</p><p><a class="button" href="/hold?id=${book.id}"><span>Place hold</span></a> <button type="button" class="plain" data-do="keep" data-id="${book.id}">${site.state.list.includes(book.id) ? "On my list" : "Add to list"}</button></p></div>
<table class="facts"><tbody><tr><th>Format</th><td>${book.format}</td></tr><tr><th>Published</th><td>${book.year}</td></tr><tr><th>Language</th><td>${book.language}</td></tr><tr><th>Subject</th><td><a href="/search?subject=${book.subject}">${book.subject}</a></td></tr><tr><th>Item number</th><td>FH-${1000 + book.id * 37}</td></tr></tbody></table></div>
<h2>Where it is</h2><table class="copies"><thead><tr><th>Branch</th><th>Shelf</th><th>Copies</th><th>Status</th></tr></thead><tbody>${each(BRANCHES, (name, at) => `<tr><td>${name}</td><td>${book.subject.slice(0, 3).toUpperCase()} ${book.author.split(" ")[1].slice(0, 4).toUpperCase()}</td><td>${(book.free + at) % 4}</td><td>${(book.free + at) % 4 ? "On the shelf" : "On loan"}</td></tr>`)}</tbody></table>
<h2>Readers also borrowed</h2><ol class="entries">${each(kin, entry)}</ol>` };
};

site.routes["/hold"] = ({ id, done }) => {
  const book = BOOKS[id];
  if (done) return { title: "Hold placed", body: `<div class="thanks"><h1>Your hold is placed</h1><p>We will write when <b>${esc(book.title)}</b> is ready at ${esc(site.state.holds.at(-1).branch)}.</p><a class="button" href="/search">Back to the catalogue</a></div><h2>More to borrow</h2><ol class="entries">${each(BOOKS.slice(3, 9), entry)}</ol>` };
  return { title: "Place hold", body: `<p class="crumbs"><a href="/">Home</a> / <a href="/item?id=${id}">${esc(book.title)}</a> / <span>Place hold</span></p><h1>Place hold</h1><div class="columns wide"><form class="card" data-do="hold"><input type="hidden" name="id" value="${id}">
<label for="card">Library card number</label><input id="card" name="card" autocomplete="off"><label for="pin">PIN</label><input id="pin" name="pin" type="password"><label for="branch">Pick up at</label><select id="branch" name="branch">${options(["Choose a branch", ...BRANCHES])}</select><label for="until">Not needed after</label><select id="until" name="until">${options(["No limit", "Two weeks", "One month", "Three months"])}</select><label for="note">Note for staff</label><textarea id="note" name="note" rows="3"></textarea><label class="tick"><input type="checkbox" name="text"> <span>Send me a text message</span></label><button type="submit">Place hold</button> <a href="/item?id=${id}">Cancel</a></form>
<aside class="entries">${entry(book)}<h2>How holds work</h2><ol><li>Place a hold on up to eight items.</li><li>Pick up within seven days.</li><li>Cancel any time in your account.</li></ol><table class="copies"><tbody>${each(BRANCHES, (name) => `<tr><th>${name}</th><td>Mon to Sat</td><td>9 to 18</td></tr>`)}</tbody></table></aside></div>` };
};

site.routes["/events"] = () => ({ title: "Events", body: `<h1>Events</h1><div class="columns"><aside><h2>Filter</h2><fieldset><legend>Branch</legend>${each(BRANCHES, (name) => `<label><input type="checkbox" name="at ${name}"> ${name}</label>`)}</fieldset></aside><ul class="cards">${each(EVENTS, (event, at) => `<li class="card"><h3>${event[0]}</h3><p><b>${event[1]}</b>, ${event[2]}</p><p>${event[3]}</p>${site.state.joining === at ? `<form data-do="joined"><label for="name">Your name</label><input id="name" name="name"><label for="places">Places</label><select id="places" name="places">${options(["1 place", "2 places", "3 places", "4 places"])}</select><button type="submit">Confirm</button></form>` : site.state.joined === at ? `<p class="in"><b>You are on the list.</b></p>` : `<button type="button" data-do="join" data-at="${at}">Register</button>`}</li>`)}</ul></div>` });

site.routes["/hours"] = () => ({ title: "Opening hours", body: `<h1>Opening hours</h1><table class="copies"><thead><tr><th>Day</th>${each(BRANCHES, (name) => `<th>${name}</th>`)}</tr></thead><tbody>${each(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"], (day, at) => `<tr><th>${day}</th>${each(BRANCHES, (name, of) => `<td>${at === 6 ? "Closed" : `${9 + ((at + of) % 2)} to ${17 + ((at * of) % 3)}`}</td>`)}</tr>`)}</tbody></table>` });
site.routes["/list"] = () => ({ title: "My list", body: `<h1>My list</h1><ol class="entries">${each(site.state.list, (id) => entry(BOOKS[id]))}</ol><p>Lists are kept until you close the browser. Sign in to keep them longer.</p><h2>Popular lists</h2><ul class="shelf">${each(BOOKS.slice(8, 16), (book) => `<li><a href="/item?id=${book.id}">${cover(book, 96)}<b>${esc(book.title)}</b></a></li>`)}</ul>` });

Object.assign(site.actions, {
  cookies: () => { site.state.cookies = true; },
  search: ({ q, scope }) => { site.state.filters = {}; return url("/search", { q, scope }); },
  filter: ({ name }, box) => { site.state.filters[name] = box.checked; },
  sort: (_, box) => { site.state.filters.sort = box.value; },
  keep: ({ id }) => { site.state.list.push(Number(id)); },
  hold: (values) => { site.state.holds.push(values); return url("/hold", { id: values.id, done: 1 }); },
  join: ({ at }) => { site.state.joining = Number(at); },
  joined: () => { site.state.joined = site.state.joining; site.state.joining = undefined; },
});
