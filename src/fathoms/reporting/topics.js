// The topic that the address names, #topic/ID, in detail.
"use strict";
(() => {
  const { data, make, fixed, address, enhance, watch } = window.fathoms;
  const detail = document.getElementById("topic-detail");

  const span = (kind, low, high, top) => {
    const part = make("i", kind);
    part.style.left = `${(100 * low) / top}%`;
    part.style.width = `${(100 * (high - low)) / top}%`;
    return part;
  };
  const grid = (id, titles, words, rows) => {
    const box = make("div", "box"), scroll = make("div", "scroll"), table = make("table"), head = make("tr"), body = make("tbody");
    table.id = id;
    titles.forEach((title, i) => {
      const cell = make("th", i < words ? "" : "n");
      cell.append(make("button", "", title));
      head.append(cell);
    });
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
    scroll.append(table);
    box.append(scroll);
    enhance(table);
    watch(scroll);
    return box;
  };
  const showTopic = (arriving) => {
    const { place: where } = address();
    if (!where.startsWith("topic/")) return;
    let name = where.slice("topic/".length);
    try { name = decodeURIComponent(name); } catch { /* as it stands */ }
    const t = data.topics.indexOf(name);
    if (t < 0) return;
    const measure = data.scores[window.fathoms.measure] ? window.fathoms.measure : 0;
    const { score, low, high } = data.scores[measure];
    const ranked = data.runs.map((_, r) => r).sort((a, b) => score[b][t] - score[a][t]);
    const top = Math.max(1e-9, ...ranked.map((r) => (high[r] ? high[r][t] : score[r][t])));
    const place = new Map(data.orders[measure].map((r, i) => [r, i + 1]));
    const rows = ranked.map((r, i) => {
      const bar = make("span", "bar");
      if (high[r]) bar.append(span("all", low[r][t], high[r][t], top));
      bar.append(span("score", score[r][t], score[r][t], top));
      return [String(i + 1), data.runs[r], bar, fixed(score[r][t]), low[r] ? fixed(low[r][t]) : "",
        high[r] ? fixed(high[r][t]) : "", String(place.get(r))];
    });
    const parts = [
      make("h3", "", `Topic ${name} by ${data.measures[measure]}`),
      make("p", "note", `${data.relevant[t]} relevant of ${data.judged[t]} judged documents.`),
    ];
    const { systems, informative: byTopic } = data.judging[measure] ?? { systems: [], informative: {} };
    const informative = byTopic[name] ?? [];
    if (informative.length) {
      const by = data.measures[measure];
      parts.push(make("h3", "", `Unjudged documents that matter most between ${systems.join(", ")}, by ${by}`));
      parts.push(grid(`topic-${name}-documents`, ["document", "ranks", "chance of relevance", `largest change of ${by}`], 2,
        informative.map(([document, p, change, ranks]) => [document,
          Object.entries(ranks).map(([run, rank]) => `${run} ${rank}`).join(", "), p.toFixed(2), fixed(change)])));
    }
    parts.push(make("h3", "", "Systems on this topic"));
    parts.push(grid(`topic-${name}-systems`, ["", "run", `0 to ${top.toFixed(2)}`, "score", "low", "high", "place overall"], 3, rows));
    detail.replaceChildren(...parts);
    if (arriving) detail.scrollIntoView({ block: "start", behavior: "instant" });
  };
  addEventListener("hashchange", () => showTopic(true));
  document.addEventListener("measure", () => showTopic(!detail.hasChildNodes()));
})();
