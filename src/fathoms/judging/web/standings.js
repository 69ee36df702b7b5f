"use strict";
// How runs compare: the curve of confidence, the table of pairs, and how much is left to do.

const MANY = 12; // runs from which the matrix has no numbers
const MOST = 24; // runs in the matrix

function showComparison(now, at_hand) {
  $("settled").textContent = `${number.format(now.settled)} of ${number.format(now.pairs)}`;
  $("settled-of").textContent = `${now.pairs === 1 ? "pair" : "pairs"} settled at ${now.until}`;
  $("forecast").textContent = forecast(now, at_hand);
  drawCurve(now);
  drawMatrix(now);
}

function forecast(now, at_hand) {
  if (now.ended) return sentence(now.ended.split(";")[0]) + (at_hand ? " You may still finish what is at hand." : "");
  if (!now.forecast) return "Too early to say how many more judgments will be needed.";
  const [low, high] = now.forecast;
  if (!high) return "";
  return `About ${low < high ? `${number.format(low)} to ` : ""}${number.format(high)} more judgments may settle it`
    + (now.budget ? `; the budget has ${number.format(Math.max(0, now.budget - now.judged))} left.` : ".");
}

function agreement(now) {
  if (!now.twice) {
    return now.double ? `${percent(now.double)} of the documents go to two people; none has two grades yet.` : "";
  }
  const between = now.kappa_interval === null ? "" : ` (${now.kappa_interval.map((end) => end.toFixed(2)).join(" to ")})`;
  return `${number.format(now.twice)} judged twice, ${number.format(now.agreed)} of them alike`
    + (now.kappa === null ? "." : `; Cohen's kappa ${now.kappa.toFixed(2)}${between}.`);
}

function drawn(tag, attributes, words) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  if (words !== undefined) made.textContent = words;
  return made;
}

function drawCurve(now) {
  const left = 26, right = 294, top = 8, bottom = 64;
  const points = now.trace;
  const first = points.length ? points[0][0] : 0;
  const last = points.length ? Math.max(...points.map((point) => point[0])) : 0;
  const x = (judged) => (last > first ? left + ((judged - first) / (last - first)) * (right - left) : left);
  const y = (least) => bottom - (Math.max(least - 0.5, 0) / 0.5) * (bottom - top);
  const goal = y(now.until);
  const title = $("curve-title");
  const latest = points.length ? points[points.length - 1][1] : 0.5;
  title.textContent = `Confidence of the least sure pair: ${latest.toFixed(2)} after ${number.format(last)} judgments`;
  const path = points.map((point, i) => `${i ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`).join("");
  $("curve").replaceChildren(
    title,
    drawn("line", { class: "floor", x1: left, x2: right, y1: bottom, y2: bottom }),
    drawn("line", { class: "goal", x1: left, x2: right, y1: goal, y2: goal }),
    drawn("text", { x: 0, y: goal + 3.5 }, String(now.until).replace(/^0/, "").slice(0, 4)),
    drawn("text", { x: 0, y: bottom + 3.5 }, ".5"),
    drawn("path", { class: "line", d: path }),
    ...points.slice(-1).map((point) => drawn("circle", { class: "dot", r: 3.5, cx: x(point[0]), cy: y(point[1]) })),
    drawn("text", { x: left, y: 80 }, "confidence of the least sure pair"),
    drawn("text", { x: right, y: 80, "text-anchor": "end" }, `${number.format(last)} judged`),
  );
}

function drawMatrix(now) {
  const runs = now.runs.slice(0, MOST);
  const table = $("matrix");
  const many = runs.length > MANY;
  table.className = many ? "matrix small" : "matrix";
  const head = element("thead");
  const names = element("tr");
  names.append(element("td"));
  for (const run of runs.slice(1)) {
    const cell = element("th", run.name.length > 6 ? `…${run.name.slice(-4)}` : run.name);
    cell.scope = "col";
    cell.title = run.name;
    names.append(cell);
  }
  const score = element("th", "score");
  score.scope = "col";
  score.title = `expected ${now.measures[0]}`;
  names.append(score);
  head.append(names);
  const rows = runs.map((run, i) => {
    const row = element("tr");
    const label = element("th", middle(run.name, 16));
    label.scope = "row";
    label.title = `${run.name}: expected ${now.measures[0]} ${run.expected.toFixed(4)}`;
    row.append(label);
    for (let j = 1; j < runs.length; j++) {
      const chance = now.confidence[i][j];
      if (j <= i || chance === null) {
        row.append(element("td"));
        continue;
      }
      const sure = Math.max(chance, 1 - chance);
      const cell = element("td", rounded(chance), sure >= now.until ? "settled" : "open");
      cell.title = `${run.name} better than ${runs[j].name}: ${chance.toFixed(4)}`;
      cell.setAttribute("aria-label", `${chance.toFixed(2)}, ${sure >= now.until ? "settled" : "open"}`);
      row.append(cell);
    }
    row.append(element("td", run.expected.toFixed(3), "value"));
    return row;
  });
  const body = element("tbody");
  body.append(...rows);
  table.replaceChildren(table.caption, head, body);
  const more = now.runs.length - runs.length;
  const entries = [["settled", "settled"], ["open", "open"]].map(([kind, words]) => {
    const entry = element("span");
    entry.append(element("i", "", kind), words);
    return entry;
  });
  $("legend").replaceChildren(...entries, element("span", `row better than column${now.measures.length > 1 ? `, by ${now.measures[0]}` : ""}` + (more ? `; ${more} runs more` : "")));
}

function rounded(chance) {
  // Towards a half: 0.949 is not 0.95, and nothing is certain.
  const part = chance > 0.5 ? Math.floor(chance * 100) : Math.ceil(chance * 100);
  return chance > 0.99 ? ">.99" : chance < 0.01 ? "<.01" : (part / 100).toFixed(2).slice(1);
}
