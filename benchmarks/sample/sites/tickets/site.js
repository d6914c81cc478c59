// Lanternhall: tickets for concerts, plays and talks, with a seat plan.

const SHOWS = [
  ["The Quiet Orchestra", "Concert", "Great Hall", 28, "Sold by the last row first: an evening of very soft music."],
  ["Rust and Roses", "Theatre", "Studio", 22, "A family sells its scrapyard and finds a garden under it."],
  ["Brass on the Roof", "Concert", "Roof Terrace", 18, "Ten players, no microphones, one sunset."],
  ["How Bridges Sing", "Talk", "Small Hall", 9, "An engineer plays recordings of nineteen bridges."],
  ["Moth Season", "Dance", "Great Hall", 31, "Twelve dancers and four hundred lamps."],
  ["Stand Up, Sit Down", "Comedy", "Studio", 16, "Five comics and one chair."],
  ["The Clockmaker's Dog", "Family", "Small Hall", 12, "A puppet play for children from five."],
  ["Low Tide Choir", "Concert", "Great Hall", 20, "Sea songs from three coasts."],
  ["A Night of Short Films", "Film", "Studio", 11, "Fourteen films, none longer than nine minutes."],
  ["Ink", "Theatre", "Great Hall", 26, "Two printers, one newspaper, the last edition."],
  ["Paper Planets", "Family", "Studio", 10, "Fold, fly and learn the night sky."],
  ["Bread and Jazz", "Concert", "Roof Terrace", 24, "The trio bakes while it plays. Tasting included."],
].map(([name, kind, room, price, about], id) => ({ id, name, kind, room, price, about, dates: [`Fri ${5 + (id % 4) * 7} June`, `Sat ${6 + (id % 4) * 7} June`, `Sun ${7 + (id % 4) * 7} June`] }));
const KINDS = ["Concert", "Theatre", "Dance", "Comedy", "Talk", "Family", "Film"];
const ROWS = "ABCDEFGHJ";
site.state = { kinds: {}, seats: [], room: "Every room", code: "" };

const poster = (show, width, height) => `<svg class="poster" viewBox="0 0 160 200" width="${width}" height="${height}" role="img" aria-label="Poster for ${esc(show.name)}" preserveAspectRatio="xMidYMid slice"><rect width="160" height="200" fill="hsl(${(show.id * 67 + 260) % 360} 45% 22%)"/><circle cx="${40 + (show.id % 4) * 26}" cy="80" r="${30 + (show.id % 3) * 12}" fill="hsl(${(show.id * 67 + 30) % 360} 80% 62%)"/><path d="M0 ${150 - (show.id % 5) * 8}l50-24 40 30 70-40v90H0z" fill="hsl(${(show.id * 67 + 200) % 360} 50% 40%)"/></svg>`;
const tile = (show) => `<article class="show"><a href="/show?id=${show.id}">${poster(show, 262, 190)}</a><div><p class="kind">${show.kind} · ${show.room}</p><h3>${esc(show.name)}</h3><p>${show.about}</p><p class="when">${show.dates[0]} to ${show.dates[2]}</p><p class="buy"><b>from $${show.price}</b> <a class="button" href="/show?id=${show.id}">Tickets</a></p></div></article>`;

site.frame = (page) => `<header><a class="logo" href="/"><svg width="26" height="36" viewBox="0 0 26 36" aria-hidden="true"><path d="M6 8h14l4 20H2z" fill="#ffb703"/><path d="M9 8V3h8v5M6 32h14" stroke="#ffb703" stroke-width="3" fill="none"/></svg>LANTERNHALL</a><nav aria-label="Main"><a href="/whatson">What's on</a><a href="/members">Membership</a><a href="/visit">Your visit</a><a href="/gift">Gift a ticket</a></nav><form data-do="search"><input name="q" placeholder="Search shows" aria-label="Search shows" value="${esc(params().q ?? "")}"></form><a class="cart" href="/cart">Cart (${site.state.seats.length})</a></header><main>${page.body}</main><section class="member"><div><h2>Members go first</h2><p>Book seats a week early, bring a friend for half price and skip the cloakroom queue.</p></div><a class="button" href="/members">Join Lanternhall</a></section><footer><div>${each(KINDS, (kind) => `<a href="${url("/whatson", { kind })}">${kind}</a>`)}</div><div><a href="/visit">Access and wheelchair seats</a><a href="/visit">Cloakroom</a><a href="/visit">Bar and kitchen</a><a href="/gift">Gift a ticket</a><a href="/cart">Proceed to payment</a></div><p>Lanternhall, 1 Wick Street. Doors open 45 minutes before every show.</p></footer>`;

site.routes["/"] = () => ({ title: "Lanternhall", body: `<section class="hero">${poster(SHOWS[4], 1280, 380)}<div><p>June at Lanternhall</p><h1>Moth Season</h1><p>Twelve dancers, four hundred lamps, three nights only.</p><a class="button" href="/show?id=4">Tickets</a></div></section><h2>This month</h2><div class="grid">${each(SHOWS.slice(0, 8), tile)}</div><h2>Eat before the show</h2><div class="pair"><article><h3>Wick Bar</h3><p>Pies, pickles, something cold. Order at the counter.</p><a href="/visit">See the menu</a></article><article><h3>Picnic on the roof</h3><p>Baskets for two before Brass on the Roof and Bread and Jazz.</p><a href="/visit">Order a basket</a></article></div>` });
site.routes["/whatson"] = ({ q = "", kind }) => {
  if (kind) site.state.kinds = { [kind]: true };
  const wanted = KINDS.filter((name) => site.state.kinds[name]);
  let found = SHOWS.filter((show) => (!wanted.length || wanted.includes(show.kind)) && (site.state.room === "Every room" || show.room === site.state.room) && has(q, Object.values(show).join(" ")));
  if (site.state.order === "Price") found = [...found].sort((a, b) => a.price - b.price || a.id - b.id);
  return { title: "What's on", body: `<h1>What's on</h1><div class="filters"><div class="chips">${each(KINDS, (name) => `<button type="button" aria-pressed="${Boolean(site.state.kinds[name])}" data-do="kind" data-name="${name}"><span>${name}</span></button>`)}</div><label for="room">Room</label><select id="room" data-change="room">${options(["Every room", "Great Hall", "Small Hall", "Studio", "Roof Terrace"], site.state.room)}</select><label for="order">Order</label><select id="order" data-change="order">${options(["Date", "Price"], site.state.order)}</select></div><p>${found.length} shows${q ? ` for “${esc(q)}”` : ""}</p><div class="grid">${each(found, tile)}</div><h2>Coming in July</h2><ul class="later">${each(["Glasshouse Quartet", "The Long Table", "Tin Whistle Weekend", "Lullabies for Grown-ups", "Night of the Accordions"], (name, at) => `<li><b>${name}</b><span>${at * 6 + 2} July, Great Hall</span><a href="/visit">Remind me</a></li>`)}</ul>` };
};
site.routes["/show"] = ({ id }) => {
  const show = SHOWS[id];
  return { title: show.name, body: `<div class="showpage">${poster(show, 400, 480)}<div><p class="kind">${show.kind} · ${show.room}</p><h1>${esc(show.name)}</h1><p>${show.about} Ninety minutes without an interval. Latecomers wait for the first applause.</p><table><thead><tr><th>Date</th><th>Doors</th><th>Starts</th><th>From</th><th></th></tr></thead><tbody>${each(show.dates, (date, at) => `<tr><td>${date}</td><td>${18 + at}:45</td><td>${19 + at}:30</td><td>$${show.price + at * 2}</td><td><a class="button" href="/seats?id=${id}&amp;at=${at}">Choose seats</a></td></tr>`)}</tbody></table><details><summary>Access</summary><p>Wheelchair seats in row J, hearing loop everywhere.</p></details><details><summary>Running order</summary><p>Printed on the night.</p></details></div></div><h2>If you like this</h2><div class="grid">${each(SHOWS.filter((other) => other.id !== show.id).slice(0, 4), tile)}</div>` };
};
site.routes["/seats"] = ({ id, at }) => {
  const show = SHOWS[id];
  const price = (row) => show.price + Number(at) * 2 + (ROWS.indexOf(row) < 3 ? 10 : 0);
  return { title: "Choose seats", body: `<p class="crumbs"><a href="/whatson">What's on</a> / <a href="/show?id=${id}">${esc(show.name)}</a> / <span>Choose seats</span></p><h1>${esc(show.name)}, ${show.dates[at]}</h1><div class="seating"><div class="plan" role="group" aria-label="Seat plan"><div class="stage">Stage</div>${each([...ROWS], (row, y) => `<div class="seatrow"><b>${row}</b>${each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], (number, x) => {
    const name = `${row}${number}`;
    const taken = (x * 7 + y * 5 + Number(id)) % 6 === 0;
    const mine = site.state.seats.some((seat) => seat.name === name && seat.id === id);
    return taken ? `<i class="taken"></i>` : `<div class="seat${mine ? " mine" : ""}" aria-label="Row ${row} seat ${number}" data-do="seat" data-name="${name}" data-price="${price(row)}" data-id="${id}">${number}</div>`;
  })}</div>`)}</div><aside><h2>Your seats</h2><ul>${each(site.state.seats, (seat) => `<li>Seat ${seat.name} <b>$${seat.price}</b></li>`)}</ul><p>Total <b>$${site.state.seats.reduce((sum, seat) => sum + Number(seat.price), 0)}</b></p><label for="kind">Ticket type</label><select id="kind" name="kind">${options(["Full price", "Student", "Senior", "Member"])}</select><a class="button" href="/cart">Add to cart</a><p><small>Rows A to C are premium seats. Choose seats together: we never leave a single gap.</small></p><a href="/show?id=${id}">Other dates</a></aside></div>` };
};
site.routes["/cart"] = () => ({ title: "Cart", body: site.state.paid ? `<div class="box"><h1>Enjoy the show, ${esc(site.state.paid.name)}</h1><p>Your tickets are in your inbox.</p></div><h2>Also in June</h2><div class="grid">${each(SHOWS.slice(4, 12), tile)}</div>` : `<h1>Cart</h1><div class="seating"><div><table><thead><tr><th>Show</th><th>Seat</th><th>Price</th><th></th></tr></thead><tbody>${each(site.state.seats, (seat, at) => `<tr><td>${esc(SHOWS[seat.id].name)}</td><td>${seat.name}</td><td>$${seat.price}</td><td><button type="button" class="ghost" data-do="drop" data-at="${at}">Remove</button></td></tr>`)}</tbody></table><form class="box" data-do="code"><label for="code">Promotion code</label><input id="code" name="code"><button type="submit" class="ghost">Apply</button>${site.state.code ? `<span>Code ${esc(site.state.code)} noted</span>` : ""}</form></div><form class="box" data-do="pay"><h2>Contact and delivery</h2><label for="name">Name on tickets</label><input id="name" name="name"><label for="email">Email for tickets</label><input id="email" name="email"><label for="delivery">Delivery</label><select id="delivery" name="delivery">${options(["Mobile ticket", "Print at home", "Post, $3", "Collect at the box office"])}</select><div class="switch"><input class="hidden" type="checkbox" id="donate" name="donate"><label for="donate">Add $2 for the roof fund</label></div><button type="submit">Proceed to payment</button><p><small>The name on tickets is checked at the door. Delivery by post takes four days.</small></p></form></div><h2>Others also booked</h2><div class="grid">${each(SHOWS.slice(0, 4), tile)}</div>` });
site.routes["/members"] = () => ({ title: "Membership", body: `<h1>Membership</h1><div class="tiers">${each([["Spark", 35, "Early booking for two seats"], ["Lantern", 60, "Early booking for four seats and half-price guests"], ["Beacon", 140, "Everything, plus a dinner with the artists"]], ([name, cost, what], at) => `<article class="box"><h3>${name}</h3><p class="big">$${cost} <small>a year</small></p><p>${what}</p><ul><li>Newsletter on paper</li><li>Cloakroom without queue</li></ul><button type="button" data-do="tier" data-name="${name}"><span>${site.state.tier === name ? "Chosen" : "Choose"}</span></button></article>`)}</div>${site.state.tier ? `<form class="box" data-do="enrol"><h2>Join as ${site.state.tier}</h2><label for="member">Full name</label><input id="member" name="member"><label for="city">City</label><input id="city" name="city"><label for="pay">Pay by</label><select id="pay" name="pay">${options(["Choose", "Card", "Bank transfer", "Invoice"])}</select><label for="friend">Name of your guest</label><input id="friend" name="friend"><button type="submit">Join Lanternhall</button></form>` : ""}${site.state.enrolled ? `<p class="box"><b>Welcome, ${esc(site.state.enrolled.member)}.</b></p>` : ""}<h2>Members are seeing</h2><div class="grid">${each(SHOWS.slice(6, 10), tile)}</div>` });

Object.assign(site.actions, {
  search: ({ q }) => url("/whatson", { q }),
  kind: ({ name }) => { site.state.kinds[name] = !site.state.kinds[name]; },
  room: (_, box) => { site.state.room = box.value; },
  order: (_, box) => { site.state.order = box.value; },
  seat: ({ name, price, id }) => {
    const at = site.state.seats.findIndex((seat) => seat.name === name && seat.id === id);
    if (at < 0) site.state.seats.push({ name, price, id });
    else site.state.seats.splice(at, 1);
  },
  drop: ({ at }) => { site.state.seats.splice(Number(at), 1); },
  code: ({ code }) => { site.state.code = code; },
  pay: (values) => { site.state.paid = values; },
  tier: ({ name }) => { site.state.tier = name; },
  enrol: (values) => { site.state.enrolled = values; },
});
