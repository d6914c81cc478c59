// Copper & Quince: a kitchenware shop with departments, filters, a basket and a checkout.

const DEPARTMENTS = {
  Cookware: ["Saucepans", "Frying pans", "Casseroles", "Steamers"],
  Baking: ["Cake tins", "Mixing bowls", "Rolling pins", "Scales"],
  Knives: ["Chef's knives", "Paring knives", "Sharpeners", "Boards"],
  Coffee: ["Grinders", "Kettles", "Cafetières", "Cups"],
};
const PRODUCTS = [
  ["Harrow saucepan with lid", "Cookware", "Saucepans", 42, "Steel", "Harrow", 4.6, 118, 1],
  ["Harrow milk pan", "Cookware", "Saucepans", 27, "Steel", "Harrow", 4.1, 40, 0],
  ["Oldmill frying pan", "Cookware", "Frying pans", 36, "Cast iron", "Oldmill", 4.8, 203, 0],
  ["Oldmill grill pan", "Cookware", "Frying pans", 48, "Cast iron", "Oldmill", 4.4, 77, 1],
  ["Tansy shallow casserole", "Cookware", "Casseroles", 89, "Enamel", "Tansy", 4.7, 95, 0],
  ["Tansy deep casserole", "Cookware", "Casseroles", 104, "Enamel", "Tansy", 4.5, 61, 1],
  ["Bamboo steamer, two tiers", "Cookware", "Steamers", 19, "Wood", "Copper & Quince", 4.0, 33, 0],
  ["Loose-base cake tin", "Baking", "Cake tins", 14, "Steel", "Harrow", 4.3, 52, 0],
  ["Fluted ring cake tin", "Baking", "Cake tins", 23, "Steel", "Tansy", 4.6, 18, 1],
  ["Stoneware mixing bowl", "Baking", "Mixing bowls", 31, "Stoneware", "Oldmill", 4.9, 240, 0],
  ["Tapered rolling pin", "Baking", "Rolling pins", 17, "Wood", "Copper & Quince", 4.7, 66, 0],
  ["Balance scales", "Baking", "Scales", 55, "Steel", "Harrow", 4.2, 29, 0],
  ["Chef's knife", "Knives", "Chef's knives", 72, "Steel", "Harrow", 4.8, 131, 0],
  ["Paring knife", "Knives", "Paring knives", 24, "Steel", "Harrow", 4.6, 89, 1],
  ["Whetstone sharpener", "Knives", "Sharpeners", 33, "Stoneware", "Copper & Quince", 4.4, 47, 0],
  ["End-grain chopping board", "Knives", "Boards", 64, "Wood", "Copper & Quince", 4.7, 58, 0],
  ["Hand coffee grinder", "Coffee", "Grinders", 58, "Steel", "Tansy", 4.5, 144, 0],
  ["Gooseneck kettle", "Coffee", "Kettles", 67, "Steel", "Tansy", 4.3, 72, 1],
  ["Enamel stove kettle", "Coffee", "Kettles", 39, "Enamel", "Tansy", 4.6, 160, 0],
  ["Glazed cup, set of four", "Coffee", "Cups", 28, "Stoneware", "Oldmill", 4.8, 91, 0],
].map(([name, department, kind, price, material, maker, stars, reviews, sale], id) =>
  ({ id, name, department, kind, price, material, maker, stars, reviews, sale }));
site.state = { banner: true, filters: {}, basket: [], sort: "Our favourites" };

const money = (pounds) => `£${pounds.toFixed(2)}`;
const total = () => site.state.basket.reduce((sum, line) => sum + line.price * line.count, 0);
const PAN = "<path d='M20 50h60v26a8 8 0 0 1-8 8H28a8 8 0 0 1-8-8z'/><path d='M80 54h34v8H80z'/>";
const SKILLET = "<ellipse cx='50' cy='66' rx='38' ry='14'/><path d='M84 60l32-16 4 8-32 16z'/>";
const BOWL = "<path d='M24 46h72l-8 40H32z'/><ellipse cx='60' cy='46' rx='36' ry='8' fill='#fff' opacity='.35'/>";
const ROLLER = "<rect x='12' y='56' width='104' height='12' rx='6'/><rect x='30' y='49' width='68' height='26' rx='10'/>";
const BLADE = "<path d='M14 56q40-26 70-6v12H14z' opacity='.6'/><rect x='84' y='50' width='34' height='12' rx='5'/>";
const KETTLE = "<path d='M36 42h50l10 44H26z'/><path d='M44 42q18-34 34 0' fill='none' stroke='#5d4a3a' stroke-width='5'/><path d='M92 66l22-20 4 5-22 26z'/>";
const SHAPES = { Saucepans: PAN, "Frying pans": SKILLET, "Rolling pins": ROLLER, "Chef's knives": BLADE, "Paring knives": BLADE, Sharpeners: ROLLER, Kettles: KETTLE, Grinders: KETTLE };
const picture = (item, height) => `<svg class="pic" viewBox="0 0 128 110" height="${height}" role="img" aria-label="${esc(item.name)}"><rect width="128" height="110" fill="#f3eee8"/><g fill="hsl(${(item.id * 47 + 10) % 360} 32% ${34 + (item.id % 4) * 8}%)">${SHAPES[item.kind] ?? BOWL}</g></svg>`;
const stars = (item) => `<span class="stars" title="${item.stars} out of 5">${"★".repeat(Math.round(item.stars))}</span> <a href="/product?id=${item.id}">${item.reviews} reviews</a>`;
const card = (item) => `<article class="card">${item.sale ? "<em>Sale</em>" : ""}<a href="/product?id=${item.id}" aria-label="View ${esc(item.name)}">${picture(item, 150)}</a><h3>${esc(item.name)}</h3><p>${stars(item)}</p><p class="price">${money(item.price)}</p><button type="button" data-do="add" data-id="${item.id}"><svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><path d="M1 4h12l-2 9H3z" fill="currentColor"/></svg><span>Add to basket</span></button></article>`;

site.frame = (page) => `
<div class="strip"><span>Free delivery over £50</span><span>Returns within 60 days</span><span>Gift wrapping in every store</span></div>
<header><a class="logo" href="/">Copper <i>&amp;</i> Quince</a><form data-do="search" role="search"><input name="q" aria-label="Search products" placeholder="What are you cooking?" value="${esc(params().q ?? "")}"><button type="submit" aria-label="Search"><svg width="18" height="18" viewBox="0 0 18 18"><circle cx="7" cy="7" r="5" fill="none" stroke="#fff" stroke-width="2"/><path d="M11 11l6 6" stroke="#fff" stroke-width="2"/></svg></button></form><ul class="tools"><li><a href="/stores">Stores</a></li><li><a href="/account">Account</a></li><li><a href="/basket">Basket <b>${site.state.basket.length}</b></a></li></ul></header>
<nav class="menu" aria-label="Departments"><ul>${each(Object.keys(DEPARTMENTS), (name) => `<li class="has"><a href="${url("/shop", { department: name })}">${name}</a><div class="panel"><h4>${name}</h4><ul>${each(DEPARTMENTS[name], (kind) => `<li><a href="${url("/shop", { department: name, kind })}">${kind}</a></li>`)}</ul><p>Not sure? <a href="/advice">Ask our cooks</a></p></div></li>`)}<li><a href="${url("/shop", { sale: 1 })}">Sale</a></li><li><a href="/advice">Recipes</a></li></ul></nav>
<main>${page.body}</main>
${site.state.banner ? `<aside class="join" aria-label="Newsletter"><form data-do="join"><b>Ten per cent off your first order</b><input name="email" placeholder="Email address" aria-label="Email address"><button type="submit">Sign up</button><button type="button" class="link" data-do="close">No thanks</button></form></aside>` : ""}
<footer><div><h4>Shop</h4>${each(Object.keys(DEPARTMENTS), (name) => `<a href="${url("/shop", { department: name })}">${name}</a>`)}<a href="/gift">Gift cards</a></div><div><h4>Help</h4><a href="/help">Delivery</a><a href="/help">Returns</a><a href="/help">Care for cast iron</a><a href="/help">Checkout questions</a></div><div><h4>About</h4><a href="/stores">Find a store</a><a href="/about">Our makers</a><a href="/about">Work with us</a></div><div><h4>Search products by maker</h4><a href="${url("/shop", { q: "Harrow" })}">Harrow</a><a href="${url("/shop", { q: "Oldmill" })}">Oldmill</a><a href="${url("/shop", { q: "Tansy" })}">Tansy</a></div><p>Copper &amp; Quince Trading Ltd, Unit 3, Cooper's Yard</p></footer>`;

site.routes["/"] = () => ({ title: "Copper & Quince", body: `<section class="hero"><div><p>Spring in the kitchen</p><h1>Everything for a slow Sunday lunch</h1><a class="cta" href="${url("/shop", { kind: "Casseroles" })}">Shop casseroles</a></div>${picture(PRODUCTS[4], 260)}</section><h2>Bestsellers</h2><div class="grid">${each(PRODUCTS.filter((item) => item.reviews > 90), card)}</div><section class="split"><div><h2>Care for cast iron</h2><p>Warm water, no soap, a thin coat of oil. Our two-minute guide keeps a frying pan going for a century.</p><a href="/help">Read the guide</a></div><div><h2>Gift cards</h2><p>Add to basket, choose a picture, write three kind words.</p><a href="/gift">Choose a gift card</a></div></section><h2>On sale</h2><div class="grid">${each(PRODUCTS.filter((item) => item.sale), card)}</div>` });

const FACETS = { material: "Material", maker: "Maker" };
site.routes["/shop"] = ({ q = "", department, kind, sale }) => {
  const chosen = site.state.filters;
  let found = PRODUCTS.filter((item) => (!department || item.department === department) && (!kind || item.kind === kind) && (!sale || item.sale) && has(q, Object.values(item).join(" ")));
  for (const key of Object.keys(FACETS)) {
    const wanted = Object.keys(chosen).filter((name) => chosen[name] && name.startsWith(`${key}:`)).map((name) => name.slice(key.length + 1));
    if (wanted.length) found = found.filter((item) => wanted.includes(item[key]));
  }
  const order = { "Price, low to high": (a, b) => a.price - b.price, "Price, high to low": (a, b) => b.price - a.price, "Best rated": (a, b) => b.stars - a.stars }[site.state.sort];
  if (order) found.sort((a, b) => order(a, b) || a.id - b.id);
  const heading = kind ?? department ?? (q ? `Results for “${esc(q)}”` : sale ? "Sale" : "All products");
  return { title: heading, body: `<p class="crumbs"><a href="/">Home</a> › ${department ? `<a href="${url("/shop", { department })}">${department}</a> › ` : ""}<span>${heading}</span></p><h1>${heading}</h1><p class="intro">${found.length} products. Prices include tax; delivery is free over £50.</p><div class="columns"><aside>${each(Object.keys(FACETS), (key) => `<details open><summary>${FACETS[key]}</summary>${each([...new Set(PRODUCTS.map((item) => item[key]))], (name) => `<label><input type="checkbox" data-change="filter" data-name="${key}:${name}"${chosen[`${key}:${name}`] ? " checked" : ""}><span>${name}</span></label>`)}</details>`)}<button type="button" class="link" data-do="clear">Clear filters</button></aside><div><p class="sort"><label for="sort">Sort by</label><select id="sort" data-change="sort">${options(["Our favourites", "Price, low to high", "Price, high to low", "Best rated"], site.state.sort)}</select></p><div class="grid three">${each(found, card)}</div></div></div>` };
};

site.routes["/product"] = ({ id }) => {
  const item = PRODUCTS[id];
  return { title: item.name, body: `<p class="crumbs"><a href="/">Home</a> › <a href="${url("/shop", { department: item.department })}">${item.department}</a> › <span>${esc(item.name)}</span></p><div class="product"><div class="big">${picture(item, 330)}</div><form data-do="add"><input type="hidden" name="id" value="${id}"><h1>${esc(item.name)}</h1><p>${stars(item)}</p><p class="price">${money(item.price)}</p><p>Made by ${esc(item.maker)} in ${item.material.toLowerCase()}, checked by hand and guaranteed for ten years.</p><label for="size">Size</label><select id="size" name="size">${options(["Choose a size", "Small, 16 cm", "Medium, 20 cm", "Large, 24 cm"])}</select><label for="colour">Colour</label><select id="colour" name="colour">${options(["Natural", "Slate grey", "Quince yellow", "Forest green"])}</select><label for="count">Quantity</label><select id="count" name="count">${options(["1", "2", "3", "4", "5", "6"])}</select><label for="engraving">Engraving (optional)</label><input id="engraving" name="engraving" maxlength="24"><button type="submit">Add to basket</button><button type="button" class="link" data-do="wish">Save for later</button></form></div><h2>Good to know</h2><table><tbody><tr><th>Material</th><td>${item.material}</td></tr><tr><th>Maker</th><td>${esc(item.maker)}</td></tr><tr><th>Hob</th><td>Gas, electric and induction</td></tr><tr><th>Guarantee</th><td>Ten years</td></tr></tbody></table><h2>You may also need</h2><div class="grid">${each(PRODUCTS.filter((other) => other.department === item.department && other.id !== item.id).slice(0, 4), card)}</div>` };
};

site.routes["/basket"] = () => ({ title: "Basket", body: `<h1>Your basket</h1><div class="columns right"><table class="lines"><thead><tr><th>Product</th><th>Details</th><th>Price</th><th></th></tr></thead><tbody>${each(site.state.basket, (line, at) => `<tr><td>${picture(PRODUCTS[line.id], 60)} <a href="/product?id=${line.id}">${esc(line.name)}</a></td><td>${line.count} × ${esc(line.detail)}</td><td>${money(line.price * line.count)}</td><td><button type="button" class="link" data-do="remove" data-at="${at}">Remove</button></td></tr>`)}</tbody></table><aside class="sum"><h2>Summary</h2><p>Subtotal <b>${money(total())}</b></p><p>Delivery <b>${total() > 50 ? "Free" : "£4.50"}</b></p><form data-do="voucher"><label for="voucher">Voucher code</label><input id="voucher" name="voucher"><button type="submit" class="link">Apply</button></form>${site.state.voucher ? `<p class="ok">Voucher ${esc(site.state.voucher)} applied</p>` : ""}<a class="cta" href="/checkout"><span>Go to checkout</span></a></aside></div><h2>Bestsellers</h2><div class="grid">${each(PRODUCTS.slice(9, 17), card)}</div>` });

site.routes["/checkout"] = () => ({ title: "Checkout", body: site.state.order ? `<div class="done"><h1>Thank you, ${esc(site.state.order.first)}</h1><p>Your order is on its way to the packing bench.</p></div><h2>While you wait</h2><div class="grid">${each(PRODUCTS.slice(4, 12), card)}</div>` : `<h1>Checkout</h1><div class="columns right"><form class="form" data-do="order"><h2>Delivery</h2><label for="first">First name</label><input id="first" name="first"><label for="last">Last name</label><input id="last" name="last"><label for="street">Street and number</label><input id="street" name="street"><label for="town">Town</label><input id="town" name="town"><label for="region">Region</label><select id="region" name="region">${options(["Select a region", "North Coast", "Midlands", "South Vale", "Islands"])}</select><label for="speed">Delivery speed</label><select id="speed" name="speed">${options(["Standard, 3 to 5 days", "Next working day", "Collect in store"])}</select><label class="tick"><input type="checkbox" name="gift"> <span>Wrap as a gift</span></label><button type="submit">Place order</button></form><aside class="sum"><h2>Summary</h2>${each(site.state.basket, (line) => `<p>${esc(line.name)} <b>${money(line.price * line.count)}</b></p>`)}<p>Total <b>${money(total())}</b></p></aside></div><h2>Last-minute extras</h2><div class="grid">${each(PRODUCTS.slice(12, 16), card)}</div>` });

Object.assign(site.actions, {
  search: ({ q }) => url("/shop", { q }),
  join: () => { site.state.banner = false; },
  close: () => { site.state.banner = false; },
  filter: ({ name }, box) => { site.state.filters[name] = box.checked; },
  clear: () => { site.state.filters = {}; },
  sort: (_, box) => { site.state.sort = box.value; },
  add: ({ id, size, colour, count }) => {
    const { name, price } = PRODUCTS[id];
    site.state.basket.push({ id, name, price, count: Number(count ?? 1), detail: size ? `${size}, ${colour}` : "Standard" });
    if (size) return "/basket";
  },
  remove: ({ at }) => { site.state.basket.splice(Number(at), 1); },
  wish: () => {},
  voucher: ({ voucher }) => { site.state.voucher = voucher; },
  order: (values) => { site.state.order = values; },
});
