// What all scripts of the page share: window.fathoms.
//   data       the numbers behind tables that are filled here
//   measure    the place of the measure chosen; whenever it changes, document hears "measure" with it as detail
//   address()  what the address asks for: {place, measure}; `go(place)` leads somewhere without losing the measure
"use strict";
window.fathoms = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // Everything that comes from files goes in as text, never as markup.
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const button = (text, title, pressed) => {
    const element = make("button", "tool", text);
    element.title = title;
    element.addEventListener("click", () => pressed(element));
    return element;
  };
  const fixed = (value, signed) =>
    value === null ? "" : (signed && value >= 0 ? "+" : "") + value.toFixed(4);
  const plain = (p) => (p < 0.0001 ? "<.0001" : p.toFixed(4));

  // -- the address: #place&m=measure, of which the first measure is left out

  const address = () => {
    const [place, ...rest] = location.hash.slice(1).split("&");
    let name = new URLSearchParams(rest.join("&")).get("m");
    const measure = data.measures.indexOf(name);
    return { place, measure: measure < 0 ? 0 : measure };
  };
  const hash = (place, measure) => {
    const chosen = measure ? `&m=${encodeURIComponent(data.measures[measure])}` : "";
    return `#${place}${chosen}`;
  };

  // -- files

  const save = (name, type, content) => {
    const link = make("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = name.replace(/[^\w.@()=-]+/g, "-");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  // A program for tables would take text that starts like this for a formula.
  const guarded = (text, isNumber) => (/^[=+\-@\t\r]/.test(text) && !isNumber ? `'${text}` : text);
  const csv = (rows) =>
    rows.map((row) => row.map((cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(","))
      .join("\r\n") + "\r\n";

  // -- what a mark of a chart stands for

  const tip = document.getElementById("tip");
  const show = (event, lines) => {
    tip.replaceChildren(...lines.map((line) => make("div", "", line)));
    tip.style.display = "block";
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 16 + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${below ? event.clientY + 16 : event.clientY - tip.offsetHeight - 10}px`;
  };
  const hide = () => { tip.style.display = "none"; };

  return { data, measure: address().measure, address, hash, make, button, fixed, plain, save, guarded, csv, show, hide };
})();
