// The table of all pairs, filled as it is asked for, and the matrix of verdicts.
"use strict";
(() => {
  const { data, make, button, fixed, plain, save, guarded, csv, compare, turn, show, hide } = window.fathoms;
  const VERDICTS = { c: "certain", s: "supported", f: "fragile", o: "open", t: "tie" };
  const REVERSIBLE = { n: "no", y: "yes", u: "unknown" };
  const table = document.getElementById("pairs");
  if (!table) return;

  const n = data.runs.length;
  const number = (a, b) => (a < b ? a * n - (a * (a + 1)) / 2 + b - a - 1 : number(b, a));
  const members = [];
  for (let a = 0; a < n; a++) for (let b = a + 1; b < n; b++) members.push([a, b]);
  // A pair with the better run first.
  const pair = (measure, i) => {
    const of = data.pairs[measure];
    const [a, b] = members[i];
    const sign = of.diff[i] < 0 ? -1 : 1;
    const ends = (low, high) => (low === null ? [null, null] : sign > 0 ? [low, high] : [-high, -low]);
    return {
      better: data.runs[sign > 0 ? a : b], worse: data.runs[sign > 0 ? b : a], diff: sign * of.diff[i],
      interval: ends(of.ci_low[i], of.ci_high[i]), p: of.p_corrected[i],
      estimate: of.estimate[i] === null ? null : sign * of.estimate[i], likely: ends(of.likely_low[i], of.likely_high[i]),
      holds: of.p_holds[i], range: ends(of.diff_low[i], of.diff_high[i]), reversible: REVERSIBLE[of.reversible[i]] ?? "",
      verdict: VERDICTS[of.verdict[i]], missing: data.obstacles[of.missing[i]] ?? "",
    };
  };
  const signed = (value) => fixed(value, true);
  // Title, value, and how it is written; without the last it is text.
  const COLUMNS = [
    ["better", (x) => x.better], ["worse", (x) => x.worse], ["verdict", (x) => x.verdict], ["obstacle", (x) => x.missing],
    ["difference", (x) => x.diff, signed], ["from", (x) => x.interval[0], signed], ["to", (x) => x.interval[1], signed],
    ["p", (x) => x.p, plain],
    ["estimate", (x) => x.estimate, signed], ["likely low", (x) => x.likely[0], signed], ["likely high", (x) => x.likely[1], signed],
    ["p holds", (x) => x.holds, (value) => (value === null ? "" : value.toFixed(2))],
    ["low", (x) => x.range[0], signed], ["high", (x) => x.range[1], signed], ["reversible", (x) => x.reversible],
  ];
  const NOTE = "the better run first. From, to: the interval over topics, by test and correction. Estimate, likely low " +
    "and high: the difference once judged, to the depth named under the table of runs; p holds: the probability that it " +
    "is significant then. Low, high: the possible range over every way of judging the two runs' documents; reversible: by " +
    "judging or tie-breaking, on these topics. p is corrected.";
  let shown = 25, order = 4, sign = -1;
  const wanted = new Set(Object.keys(VERDICTS));
  const find = document.getElementById("pair-find"), note = document.getElementById("pair-note");
  const chosen = () => window.fathoms.measure;
  const rows = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const whole = new Set(data.runs.map((run) => run.toLowerCase()));  // a whole name finds no longer ones
    const fits = (name, word) => (whole.has(word) ? name === word : name.includes(word));
    const verdicts = data.pairs[chosen()].verdict, found = [];
    for (let i = 0; i < members.length; i++) {
      if (!wanted.has(verdicts[i])) continue;
      if (words.length) {
        const names = members[i].map((m) => data.runs[m].toLowerCase());
        if (!words.every((word) => names.some((name) => fits(name, word)))) continue;
      }
      found.push(pair(chosen(), i));
    }
    const value = COLUMNS[order][1];
    return found.sort((x, y) => sign * compare(value(x) ?? "", value(y) ?? ""));
  };
  const fill = () => {
    const found = rows();
    table.tBodies[0].replaceChildren(...found.slice(0, shown).map((x) => {
      const row = make("tr");
      for (const [title, value, written] of COLUMNS) {
        if (title === "verdict") {
          const cell = make("td");
          cell.append(make("span", `verdict ${x.verdict}`, x.verdict));
          row.append(cell);
        } else row.append(make("td", written ? "n" : "", written ? written(value(x)) : value(x)));
      }
      return row;
    }));
    note.textContent = `${Math.min(shown, found.length).toLocaleString("en")} of ${found.length.toLocaleString("en")} pairs, ${NOTE}`;
    if (found.length > shown) {
      const more = make("button", "more", "Show more");
      more.addEventListener("click", () => { shown += 200; fill(); });
      note.append(more);
    }
  };
  const head = make("tr");
  COLUMNS.forEach(([title, , written], column) => {
    const cell = make("th", written ? "n" : "");
    cell.scope = "col";
    cell.append(make("button", "", title));
    if (column === order) cell.setAttribute("aria-sort", "descending");
    cell.addEventListener("click", () => {
      sign = turn(cell, written ? "descending" : "ascending");
      order = column;
      fill();
    });
    head.append(cell);
  });
  table.tHead.append(head);
  for (const [letter, verdict] of Object.entries(VERDICTS)) {
    if (!data.pairs.some((of) => of.verdict.includes(letter))) continue;
    const label = make("label"), box = make("input");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => {
      if (box.checked) wanted.add(letter);
      else wanted.delete(letter);
      fill();
    });
    label.append(box, " ", make("span", `verdict ${verdict}`, verdict));
    document.getElementById("pair-verdicts").append(label);
  }
  find.addEventListener("input", () => { shown = 25; fill(); });
  const written = ([, value, form], x) => (form ? String(value(x) ?? "") : guarded(value(x), false));
  const tools = make("div", "tools");
  tools.append(make("span", "hint", "scroll \u2192"), button("CSV", "Save the pairs found as a CSV file", () =>
    save(`pairs-${data.measures[chosen()]}.csv`, "text/csv",
      csv([COLUMNS.map(([title]) => title), ...rows().map((x) => COLUMNS.map((column) => written(column, x)))]))));
  table.closest(".box").prepend(tools);
  document.addEventListener("measure", fill);

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
      const likely = x.estimate === null ? [] : [`estimate ${signed(x.estimate)} (${x.likely.map(signed).join(" to ")})`];
      const range = x.range[0] === null ? [] : [`possible ${x.range.map(signed).join(" to ")}`];
      show(event, [`${x.better} over ${x.worse}: ${x.verdict}`, `difference ${signed(x.diff)}`, `p ${plain(x.p)}`,
        ...likely, ...range, ...(x.missing ? [`obstacle: ${x.missing}`] : [])]);
    });
    svg.addEventListener("click", (event) => {
      const i = at(event);
      if (i === null) return;
      const x = pair(measure, i);
      find.value = `${x.better} ${x.worse}`;
      fill();
      find.scrollIntoView({ block: "center" });
    });
  });
})();
