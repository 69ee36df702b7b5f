"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const VERDICTS = { c: "certain", s: "supported", f: "fragile", o: "open", t: "tie" };
  const REVERSIBLE = { n: "no", y: "yes", u: "unknown" };
  let chosen = 0;

  // Everything that comes from files goes in as text, never as markup.
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const fixed = (value, signed) =>
    value === null ? "" : (signed && value >= 0 ? "+" : "") + value.toFixed(4);
  const chance = (p) => (p < 0.0001 ? "<.0001" : p.toFixed(4));

  // -- tables: sort by a column, find rows

  const key = (cell) => {
    const text = cell.dataset.v ?? cell.textContent.trim();
    const number = Number(text.replace(/[,%]/g, ""));
    return text !== "" && !Number.isNaN(number) ? number : text;
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const turn = (head, first) => {
    const now = head.getAttribute("aria-sort");
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    const next = now ? (now === "ascending" ? "descending" : "ascending") : first;
    head.setAttribute("aria-sort", next);
    return next === "ascending" ? 1 : -1;
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.addEventListener("click", () => {
        const sign = turn(head, head.className === "n" ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map((row) => [key(row.cells[column]), row]);
        rows.sort((a, b) => (a[0] === "" || b[0] === "" ? 1 : sign) * compare(a[0], b[0]));
        table.tBodies[0].append(...rows.map((pair) => pair[1]));
      });
    });
  });
  document.querySelectorAll("input.find").forEach((input) => {
    const rows = document.getElementById(input.dataset.for).tBodies[0].rows;
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  });

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
  document.querySelectorAll(".chart svg").forEach((svg) => {
    svg.addEventListener("pointermove", (event) => {
      const mark = event.target.closest(".role-mark [aria-label]");
      if (mark) show(event, mark.getAttribute("aria-label").split("; "));
      else hide();
    });
    svg.addEventListener("pointerleave", hide);
  });

  // -- pairs

  const n = data.runs.length;
  const number = (a, b) => (a < b ? a * n - (a * (a + 1)) / 2 + b - a - 1 : number(b, a));
  const members = [];
  for (let a = 0; a < n; a++) for (let b = a + 1; b < n; b++) members.push([a, b]);
  // A pair with the better system first.
  const pair = (measure, i) => {
    const of = data.pairs[measure];
    const [a, b] = members[i];
    const sign = of.diff[i] < 0 ? -1 : 1;
    const ends = (low, high) => (low === null ? [null, null] : sign > 0 ? [low, high] : [-high, -low]);
    return {
      better: data.runs[sign > 0 ? a : b], worse: data.runs[sign > 0 ? b : a], diff: sign * of.diff[i],
      range: ends(of.diff_low[i], of.diff_high[i]), interval: ends(of.ci_low[i], of.ci_high[i]),
      p: of.p_corrected[i], verdict: VERDICTS[of.verdict[i]], missing: data.obstacles[of.missing[i]] ?? "",
      reversible: REVERSIBLE[of.reversible[i]] ?? "",
    };
  };
  const COLUMNS = [
    ["better", (x) => x.better], ["worse", (x) => x.worse], ["difference", (x) => x.diff],
    ["low", (x) => x.range[0]], ["high", (x) => x.range[1]], ["interval from", (x) => x.interval[0]],
    ["to", (x) => x.interval[1]], ["p", (x) => x.p], ["reversible", (x) => x.reversible],
    ["verdict", (x) => x.verdict], ["obstacle", (x) => x.missing],
  ];
  const pairs = document.getElementById("pairs");
  let shown = 50, order = 2, sign = -1;
  const wanted = new Set(Object.keys(VERDICTS));
  const find = document.getElementById("pair-find");
  const fillPairs = () => {
    if (!pairs) return;
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = data.pairs[chosen].verdict;
    const rows = [];
    for (let i = 0; i < members.length; i++) {
      if (!wanted.has(verdicts[i])) continue;
      if (words.length) {
        const names = members[i].map((m) => data.runs[m].toLowerCase());
        if (!words.every((word) => names.some((name) => name.includes(word)))) continue;
      }
      rows.push(pair(chosen, i));
    }
    rows.sort((x, y) => sign * compare(COLUMNS[order][1](x) ?? "", COLUMNS[order][1](y) ?? ""));
    const body = rows.slice(0, shown).map((x) => {
      const row = make("tr");
      row.append(make("td", "", x.better), make("td", "", x.worse));
      for (const value of [x.diff, ...x.range, ...x.interval]) row.append(make("td", "n", fixed(value, true)));
      row.append(make("td", "n", chance(x.p)));
      const cell = make("td");
      cell.append(make("span", `verdict ${x.verdict}`, x.verdict));
      row.append(make("td", "", x.reversible), cell, make("td", "", x.missing));
      return row;
    });
    pairs.tBodies[0].replaceChildren(...body);
    const note = document.getElementById("pair-note");
    note.textContent =
      `${Math.min(shown, rows.length).toLocaleString("en")} of ${rows.length.toLocaleString("en")} pairs, the better ` +
      "system first. Low and high: the range of the difference over every way of judging the two systems' documents; " +
      "reversible: by judging or tie-breaking, on these topics; p is corrected.";
    if (rows.length > shown) {
      const more = make("button", "more", "Show more");
      more.addEventListener("click", () => { shown += 200; fillPairs(); });
      note.append(more);
    }
  };
  if (pairs) {
    const head = make("tr");
    COLUMNS.forEach(([title], column) => {
      const cell = make("th", column > 1 && column < 8 ? "n" : "");
      cell.scope = "col";
      cell.append(make("button", "", title));
      if (column === order) cell.setAttribute("aria-sort", "descending");
      cell.addEventListener("click", () => {
        sign = turn(cell, cell.className === "n" ? "descending" : "ascending");
        order = column;
        fillPairs();
      });
      head.append(cell);
    });
    pairs.tHead.append(head);
    for (const [letter, verdict] of Object.entries(VERDICTS)) {
      if (!data.pairs.some((of) => of.verdict.includes(letter))) continue;
      const label = make("label");
      const box = make("input");
      box.type = "checkbox";
      box.checked = true;
      box.addEventListener("change", () => {
        if (box.checked) wanted.add(letter);
        else wanted.delete(letter);
        fillPairs();
      });
      label.append(box, " ", make("span", `verdict ${verdict}`, verdict));
      document.getElementById("pair-verdicts").append(label);
    }
    find.addEventListener("input", () => { shown = 50; fillPairs(); });
  }
  document.querySelectorAll(".matrix svg").forEach((svg, measure) => {
    const at = (event) => {
      const box = svg.querySelector(".root > g > .background").getBoundingClientRect();
      const row = Math.floor((n * (event.clientY - box.top)) / box.height);
      const column = Math.floor((n * (event.clientX - box.left)) / box.width);
      const inside = row >= 0 && row < n && column >= 0 && column < n && row !== column;
      return inside ? number(data.orders[measure][row], data.orders[measure][column]) : null;
    };
    svg.addEventListener("pointermove", (event) => {
      const i = at(event);
      if (i === null) return hide();
      const x = pair(measure, i);
      const range = x.range[0] === null ? [] : [`range ${fixed(x.range[0], true)} to ${fixed(x.range[1], true)}`];
      show(event, [`${x.better} over ${x.worse}: ${x.verdict}`, `difference ${fixed(x.diff, true)}`, ...range,
        `p ${chance(x.p)}`, ...(x.missing ? [`obstacle: ${x.missing}`] : [])]);
    });
    svg.addEventListener("click", (event) => {
      const i = at(event);
      if (i === null) return;
      const x = pair(measure, i);
      find.value = `${x.better} ${x.worse}`;
      fillPairs();
      find.scrollIntoView({ block: "center" });
    });
  });

  // -- one topic

  const span = (kind, low, high, top) => {
    const part = make("i", kind);
    part.style.left = `${(100 * low) / top}%`;
    part.style.width = `${(100 * (high - low)) / top}%`;
    return part;
  };
  const grid = (titles, words, rows) => {
    const box = make("div", "scroll"), table = make("table"), head = make("tr"), body = make("tbody");
    titles.forEach((title, i) => head.append(make("th", i < words ? "" : "n", title)));
    for (const cells of rows) {
      const row = make("tr");
      cells.forEach((cell, i) => {
        const place = make("td", i < words ? "" : "n");
        place.append(cell);
        row.append(place);
      });
      body.append(row);
    }
    const top = make("thead");
    top.append(head);
    table.append(top, body);
    box.append(table);
    return box;
  };
  // -- which measure

  const choose = (measure) => {
    chosen = measure;
    document.querySelectorAll(".of-measure").forEach((part) => {
      part.hidden = Number(part.dataset.measure) !== measure;
    });
    document.querySelectorAll(".measures button").forEach((button) => {
      button.setAttribute("aria-pressed", String(Number(button.dataset.measure) === measure));
    });
    fillPairs();
    window.fathoms.measure = measure;
    document.dispatchEvent(new CustomEvent("measure", { detail: measure }));
  };
  window.fathoms = { data, measure: 0, make, fixed, grid, span };
  document.querySelectorAll(".measures button").forEach((button) => {
    button.addEventListener("click", () => choose(Number(button.dataset.measure)));
  });
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  choose(0);
})();
