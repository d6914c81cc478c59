// Saltmarsh Kitchen: a small restaurant group that takes table bookings and collection orders.

const PLACES = [
  ["Saltmarsh Harbour", "2 Fishgate Quay", "Seafood and open fire", "Dogs welcome on the terrace"],
  ["Saltmarsh Mill", "The Old Mill, Weirside", "Sharing plates and bread", "Step-free access"],
  ["Saltmarsh Garden", "Walled Garden, Pell House", "Vegetables first", "Heated greenhouse tables"],
];
const MENU = {
  "Small plates": [["Smoked eel on rye", 9.5, "fish"], ["Charred leeks, romesco", 8, "vegan"], ["Crab toast", 11, "fish"], ["Salt-baked beetroot", 7.5, "vegan"], ["Ham and mustard croquettes", 8.5, ""]],
  "From the fire": [["Whole plaice, brown butter", 22, "fish"], ["Hake, mussels, cider", 21, "fish"], ["Half chicken, lemon, thyme", 19, ""], ["Celeriac steak, hazelnut", 16, "vegan"], ["Pork chop, burnt apple", 20, ""]],
  Sides: [["Fried potatoes", 5, "vegan"], ["Dressed leaves", 4.5, "vegan"], ["Seaweed butter and bread", 4, ""], ["Braised greens", 5, "vegan"]],
  Puddings: [["Sea-salt caramel tart", 8, ""], ["Poached pear, ginger", 7.5, "vegan"], ["Brown bread ice cream", 6.5, ""], ["Farmhouse cheese", 9.5, ""]],
};
const DISHES = Object.entries(MENU).flatMap(([course, dishes]) => dishes.map(([name, price, kind]) => ({ course, name, price, kind }))).map((dish, id) => ({ ...dish, id }));
const TIMES = ["12:00", "12:30", "13:00", "13:30", "18:00", "18:30", "19:00", "19:30", "20:00", "20:30"];
const DATES = ["Thursday 4 June", "Friday 5 June", "Saturday 6 June", "Sunday 7 June"];
site.state = { basket: {}, diet: "Everything", party: {} };

const price = (amount) => `£${amount.toFixed(2)}`;
const wave = `<svg class="wave" viewBox="0 0 1280 60" width="1280" height="60" aria-hidden="true"><path d="M0 30q80-30 160 0t160 0 160 0 160 0 160 0 160 0 160 0 160 0v30H0z" fill="#f2efe9"/></svg>`;
const plate = (at) => `<svg width="100%" height="190" viewBox="0 0 300 190" aria-hidden="true"><rect width="300" height="190" fill="hsl(${(at * 70 + 190) % 360} 22% 72%)"/><circle cx="150" cy="100" r="76" fill="#fff"/><circle cx="150" cy="100" r="54" fill="#eceff0"/><ellipse cx="${140 + at * 6}" cy="98" rx="34" ry="16" fill="hsl(${(at * 90 + 20) % 360} 55% 52%)"/><circle cx="172" cy="${112 - at * 4}" r="10" fill="#5d7f3a"/></svg>`;

site.frame = (page) => `<header><div class="top"><a href="/" class="name">Saltmarsh Kitchen</a><nav aria-label="Main"><a href="/places">Restaurants</a><a href="/menu">Menu</a><a href="/order">Order to collect</a><a href="/gifts">Gift vouchers</a><a href="/private">Private dining</a></nav><a class="book" href="/book">Book a table</a></div>${page.hero ?? ""}${wave}</header><main>${page.body}</main>
<section class="news"><h2>Letters from the marsh</h2><p>Recipes, tides and first news of supper clubs. Book a table before everybody else does.</p><form data-do="news"><input name="email" aria-label="Email" placeholder="Your email"><button type="submit">Subscribe</button></form>${site.state.news ? "<p><b>Welcome aboard.</b></p>" : ""}</section>
<footer><ul>${each(PLACES, (place) => `<li><b>${place[0]}</b><span>${place[1]}</span><a href="/book?place=${encodeURIComponent(place[0])}">Book</a></li>`)}</ul><ul><li><a href="/menu">Menu</a></li><li><a href="/allergens">Allergens</a></li><li><a href="/jobs">Jobs in our kitchens</a></li><li><a href="/gifts">Gift vouchers</a></li></ul><p>Kitchens close one hour after last orders.</p></footer>`;

site.routes["/"] = () => ({ title: "Saltmarsh Kitchen", hero: `<div class="hero"><h1>Fish, fire and<br>a view of the tide</h1><p>Three restaurants on the estuary.</p><a class="book" href="/menu">See the menu</a></div>`, body: `<h2>Our restaurants</h2><div class="places">${each(PLACES, place)}</div><section class="quote"><blockquote>“The plaice alone is worth the train.”</blockquote><p>The Estuary Gazette</p></section><h2>On the fire this week</h2><ul class="dishes">${each(DISHES.slice(5, 10), dish)}</ul><h2>Supper clubs</h2><table><tbody>${each(["Oyster evening", "Foraged supper", "Cider and cheese", "Bread class"], (name, at) => `<tr><th>${name}</th><td>${DATES[at]}</td><td>${PLACES[at % 3][0]}</td><td>${price(38 + at * 4)}</td><td><button type="button" data-do="club" data-at="${at}">${site.state.club === at ? "Reserved" : "Reserve"}</button></td></tr>`)}</tbody></table>` });

function place([name, street, style, note], at) {
  return `<article>${plate(at)}<h3>${name}</h3><p>${street}</p><p><i>${style}</i></p><p>${note}</p><p><a class="book" href="/book?place=${encodeURIComponent(name)}"><span>Book</span></a> <a href="/menu">Menu</a> <a href="/places">Directions</a></p></article>`;
}
function dish(item) {
  return `<li><b>${item.name}</b> ${item.kind ? `<span class="kind">${item.kind}</span>` : ""}<span class="dots"></span><span>${price(item.price)}</span></li>`;
}
site.routes["/places"] = () => ({ title: "Restaurants", body: `<h1>Restaurants</h1><div class="places">${each(PLACES, place)}</div><h2>Opening times</h2><table><thead><tr><th>Restaurant</th>${each(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], (day) => `<th>${day}</th>`)}</tr></thead><tbody>${each(PLACES, (row) => `<tr><th>${row[0]}</th>${each([0, 1, 2, 3, 4, 5, 6], (day) => `<td>${day < 1 ? "Closed" : day < 4 ? "18 to 22" : "12 to 22"}</td>`)}</tr>`)}</tbody></table>` });
site.routes["/menu"] = () => ({ title: "Menu", body: `<h1>Menu</h1><p>Change nothing, share everything. Tell us about allergies when you book a table.</p><div class="courses">${each(Object.keys(MENU), (course) => `<section><h2>${course}</h2><ul class="dishes">${each(DISHES.filter((item) => item.course === course), dish)}</ul></section>`)}</div><p><a class="book" href="/order">Order to collect</a></p>` });

site.routes["/order"] = () => {
  const shown = DISHES.filter((item) => site.state.diet === "Everything" || (site.state.diet === "Vegan only" ? item.kind === "vegan" : item.kind !== "fish"));
  const lines = Object.entries(site.state.basket).map(([id, count]) => [DISHES[id], count]);
  if (site.state.ordered) return { title: "Order received", body: `<div class="panel"><h1>Order received</h1><p>Thank you, ${esc(site.state.ordered.name)}. Ring the brass bell when you arrive.</p></div><h2>See you soon</h2><div class="places">${each(PLACES, place)}</div>` };
  return { title: "Order to collect", body: `<h1>Order to collect</h1><p class="bar"><label for="diet">Show</label><select id="diet" data-change="diet">${options(["Everything", "Vegan only", "No fish"], site.state.diet)}</select></p><div class="two"><div>${each(Object.keys(MENU), (course) => `<h2>${course}</h2><div class="orderable">${each(shown.filter((item) => item.course === course), (item) => `<div class="row"><div><b>${item.name}</b> ${item.kind ? `<span class="kind">${item.kind}</span>` : ""}<br><small>${price(item.price)}</small></div><div role="button" tabindex="0" class="plus" data-do="plus" data-id="${item.id}"><svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true"><path d="M5 0h2v5h5v2H7v5H5V7H0V5h5z" fill="#fff"/></svg><span>Add</span></div></div>`)}</div>`)}</div>
<aside class="panel"><h2>Your order</h2><ul class="dishes">${each(lines, ([item, count]) => `<li><b>${count} × ${item.name}</b><span class="dots"></span><button type="button" data-do="minus" data-id="${item.id}" aria-label="Remove ${item.name}">−</button></li>`)}</ul><p>Total ${price(lines.reduce((sum, [item, count]) => sum + item.price * count, 0))}</p><form data-do="order"><label for="from">Collect from</label><select id="from" name="from">${options(["Choose a restaurant", ...PLACES.map((row) => row[0])])}</select><label for="at">Collect at</label><select id="at" name="at">${options(["As soon as possible", ...TIMES.slice(4)])}</select><label for="name">Name for the order</label><input id="name" name="name"><label for="note">Anything we should know?</label><textarea id="note" name="note" rows="2"></textarea><button type="submit">Send order</button></form></aside></div>` };
};

site.routes["/book"] = (given) => {
  const chosen = { place: given.place, ...site.state.party };
  const slots = site.state.searched;
  return { title: "Book a table", body: site.state.booked ? `<div class="panel"><h1>Your table is booked</h1><p>${esc(site.state.booked.who)}, we look forward to seeing you at ${site.state.slot}.</p></div><h2>Before you come</h2><div class="places">${each(PLACES, place)}</div>` : `<h1>Book a table</h1><form class="find panel" data-do="find"><div><label for="place">Restaurant</label><select id="place" name="place">${options(["Any restaurant", ...PLACES.map((row) => row[0])], chosen.place)}</select></div><div><label for="people">Guests</label><select id="people" name="people">${options(["2 people", "3 people", "4 people", "5 people", "6 people", "8 people"], chosen.people)}</select></div><div><label for="date">Date</label><select id="date" name="date">${options(DATES, chosen.date)}</select></div><button type="submit">Find a table</button></form>
${slots ? each(PLACES.filter((row) => chosen.place === "Any restaurant" || row[0] === chosen.place), (row, at) => `<section class="slots"><h2>${row[0]}</h2><p>${row[2]}. ${row[3]}.</p><ul>${each(TIMES, (time, of) => `<li>${(of + at) % 4 === 3 ? `<s>${time}</s>` : `<div class="slot" data-do="slot" data-time="${time}" data-place="${row[0]}"><b>${time}</b><small>${of < 4 ? "Lunch" : "Dinner"}</small></div>`}</li>`)}</ul></section>`) : `<p>Choose a restaurant, a date and the size of your party. Tables for more than eight: see private dining.</p><div class="places">${each(PLACES, place)}</div>`}
${site.state.slot ? `<form class="panel details" data-do="book"><h2>Your details for ${site.state.slot}</h2><label for="who">Full name</label><input id="who" name="who"><label for="phone">Mobile number</label><input id="phone" name="phone" type="tel"><label for="occasion">Occasion</label><select id="occasion" name="occasion">${options(["No occasion", "Birthday", "Anniversary", "Business"])}</select><label for="wishes">Requests</label><textarea id="wishes" name="wishes" rows="3"></textarea><button type="submit">Confirm booking</button></form>` : ""}` };
};
site.routes["/gifts"] = () => ({ title: "Gift vouchers", body: `<h1>Gift vouchers</h1><div class="two"><form class="panel details" data-do="gift"><label for="amount">Amount</label><select id="amount" name="amount">${options(["£25", "£50", "£75", "£100", "£150"])}</select><label for="to">Recipient's name</label><input id="to" name="to"><label for="message">Message</label><textarea id="message" name="message" rows="3"></textarea><label><input type="checkbox" name="post"> <span>Send by post</span></label><button type="submit">Add voucher to order</button></form><div>${site.state.gift ? `<p class="panel">A ${site.state.gift.amount} voucher for ${esc(site.state.gift.to)} is in your order.</p>` : ""}${plate(2)}<p>Vouchers are valid in all three restaurants and for orders to collect.</p></div></div><h2>Or give an evening</h2><div class="places">${each(PLACES, place)}</div>` });

Object.assign(site.actions, {
  news: () => { site.state.news = true; },
  club: ({ at }) => { site.state.club = Number(at); },
  diet: (_, box) => { site.state.diet = box.value; },
  plus: ({ id }) => { site.state.basket[id] = (site.state.basket[id] ?? 0) + 1; },
  minus: ({ id }) => { delete site.state.basket[id]; },
  order: (values) => { site.state.ordered = values; },
  find: (values) => { site.state.party = values; site.state.searched = true; site.state.slot = undefined; },
  slot: ({ time, place: where }) => { site.state.slot = `${where}, ${time}`; },
  book: (values) => { site.state.booked = values; },
  gift: (values) => { site.state.gift = values; },
});
