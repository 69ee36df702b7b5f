// One topic, #topic/ID/A/B: two runs side by side, the documents that could decide between them, and all runs.
"use strict";
(() => {
  const { data, make, fixed, address, hash, enhance, watch } = window.fathoms;
  const box = document.getElementById("topic-detail");
  if (!box) return;
  const lists = data.lists;
  const EQUAL = 5e-5; // four digits are all there is
  const state = { topic: -1, a: -1, b: -1 };

  const measure = () => (data.scores[window.fathoms.measure] ? window.fathoms.measure : 0);
  const scoreOf = (run, topic) => data.scores[measure()].score[run][topic];
  const difference = (topic) => scoreOf(state.a, topic) - scoreOf(state.b, topic);
  const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

  // -- what is chosen: in the address, so that a link shows the same

  const readAddress = () => {
    const [kind, ...names] = address().place.split("/").map((part) => {
      try { return decodeURIComponent(part); } catch { return part; }
    });
    const [topic, a, b] = names;
    const at = kind === "topic" ? data.topics.indexOf(topic) : -1;
    if (at < 0) return false;
    state.topic = at;
    if (data.runs.includes(a)) state.a = data.runs.indexOf(a);
    if (data.runs.includes(b)) state.b = data.runs.indexOf(b);
    return true;
  };
  const writeAddress = () => {
    const names = [data.topics[state.topic], data.runs[state.a], ...(state.b < 0 ? [] : [data.runs[state.b]])];
    history.replaceState(null, "", hash(["topic", ...names.map(encodeURIComponent)].join("/"), window.fathoms.measure));
  };
  const settle = () => {
    const order = data.orders[measure()];
    if (state.a < 0) state.a = order.find((run) => run !== state.b);
    if (state.b < 0 || state.b === state.a) state.b = order.find((run) => run !== state.a) ?? -1;
    if (state.topic < 0) {
      const gaps = data.topics.map((_, t) => (state.b < 0 ? scoreOf(state.a, t) : Math.abs(difference(t))));
      state.topic = gaps.indexOf(Math.max(...gaps));
    }
  };

  // -- parts

  const span = (kind, low, high, top) => {
    const part = make("i", kind);
    part.style.left = `${(100 * low) / top}%`;
    part.style.width = `${(100 * (high - low)) / top}%`;
    return part;
  };
  const grid = (id, titles, words, rows) => {
    const frame = make("div", "box"), scroll = make("div", "scroll"), table = make("table"), head = make("tr");
    const top = make("thead"), body = make("tbody");
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
    top.append(head);
    table.append(top, body);
    scroll.append(table);
    frame.append(scroll);
    enhance(table);
    watch(scroll);
    return frame;
  };
  const tableName = (what) => `topic-${data.topics[state.topic]}-${what}`;

  // -- controls

  const select = (label, names, chosen, onChange) => {
    const frame = make("label", "choose", label);
    const list = make("select");
    names.forEach((name, i) => {
      const option = make("option", "", name);
      option.value = i;
      list.append(option);
    });
    list.value = chosen;
    list.addEventListener("change", () => { onChange(Number(list.value)); writeAddress(); draw(); });
    frame.append(list);
    return frame;
  };
  const step = (label, title, by) => {
    const button = make("button", "more", label);
    button.title = title;
    button.addEventListener("click", () => {
      state.topic = (state.topic + by + data.topics.length) % data.topics.length;
      writeAddress();
      draw();
    });
    return button;
  };
  const controls = () => {
    const row = make("div", "controls pick");
    row.append(select("Topic", data.topics, state.topic, (t) => { state.topic = t; }));
    row.append(step("\u2039", "Previous topic", -1), step("\u203a", "Next topic", 1));
    const runs = (label, own, other) => select(label, data.runs, state[own], (run) => {
      if (state[other] === run) state[other] = state[own];
      state[own] = run;
    });
    row.append(runs("Run A", "a", "b"));
    if (state.b >= 0) row.append(runs("Run B", "b", "a"));
    return row;
  };

  // -- the answer

  const answer = () => {
    const t = state.topic;
    const name = data.measures[measure()];
    const judged = `${plural(data.relevant[t], "relevant document")} among ${data.judged[t].toLocaleString("en")} judged.`;
    const first = `${data.runs[state.a]} scores ${fixed(scoreOf(state.a, t))}`;
    if (state.b < 0) return `By ${name}, ${first} on topic ${data.topics[t]}. ${judged}`;
    const gap = difference(t);
    const who = Math.abs(gap) < EQUAL ? "they are equal"
      : `${data.runs[gap > 0 ? state.a : state.b]} is ahead by ${fixed(Math.abs(gap))}`;
    return `By ${name}, ${first} on topic ${data.topics[t]} and ${data.runs[state.b]} ${fixed(scoreOf(state.b, t))}: ` +
      `${who}, unjudged documents taken as not relevant. ${judged}`;
  };

  // -- two rankings

  const ranking = (run) => lists.places[run][state.topic];
  const unjudged = (document) => lists.grades[state.topic][document] === null;
  // What judging each unjudged document of the list relevant would do to the run's score on the topic.
  const effects = (run) => {
    const found = lists.effects[window.fathoms.measure];
    if (!found) return null;
    const values = found[run][state.topic];
    return new Map(ranking(run).filter(unjudged).map((document, i) => [document, values[i]]));
  };
  const grade = (document) => {
    const value = lists.grades[state.topic][document];
    if (value === null) return make("span", "unjudged", "unjudged");
    return make("span", value > 0 ? "graded relevant" : "graded", value > 0 ? `grade ${value}` : "not relevant");
  };
  const snippet = (document) => {
    const pieces = lists.texts[state.topic][document];
    const text = make("p");
    if (!pieces.length) text.append(lists.textless ? "text not included" : "no text");
    pieces.forEach((piece, i) => text.append(i % 2 ? make("mark", "", piece) : piece));
    return text;
  };
  const listOf = (label, run, other) => {
    const part = make("div");
    part.append(make("h4", "", label ? `${label}: ${data.runs[run]}` : data.runs[run]));
    const places = ranking(run);
    if (!places.length) {
      part.append(make("p", "note", "No documents for this topic."));
      return part;
    }
    const ties = new Set(lists.ties[run][state.topic]);
    const list = make("ol");
    places.forEach((document, i) => {
      const item = make("li", unjudged(document) ? "is-unjudged" : lists.grades[state.topic][document] > 0 ? "is-relevant" : "");
      item.value = i + 1;
      item.append(make("span", "doc", lists.documents[state.topic][document]), " ", grade(document));
      if (ties.has(i) || ties.has(i + 1)) {
        const tie = make("span", "tied", "tied");
        tie.title = "It has the same score as its neighbour, so the order of the two is the tie-breaking rule's.";
        item.append(" ", tie);
      }
      if (other >= 0) {
        const there = ranking(other).indexOf(document);
        const which = other === state.a ? "A" : "B";
        item.append(" ", make("span", "mark", there < 0 ? `not in ${which}'s first ${lists.depth}` : `${which}: ${there + 1}`));
      }
      if (lists.texts) item.append(snippet(document));
      list.append(item);
    });
    part.append(list);
    return part;
  };
  const deciding = () => {
    const a = effects(state.a), b = state.b < 0 ? new Map() : effects(state.b);
    if (!a || !b) return [];
    const documents = [...new Set([...a.keys(), ...b.keys()])];
    const gap = (document) => Math.abs((a.get(document) ?? 0) - (b.get(document) ?? 0));
    const chosen = documents.filter((document) => gap(document) >= EQUAL).sort((x, y) => gap(y) - gap(x)).slice(0, 8);
    if (!chosen.length) {
      const said = documents.length ? "No single judgment among them would change the difference on this topic." : "All of these documents are judged.";
      return [make("p", "note", said)];
    }
    const rank = (run, document) => {
      const at = ranking(run).indexOf(document);
      return at < 0 ? "" : String(at + 1);
    };
    const change = (of, document) => (of.has(document) ? fixed(of.get(document), true) : "");
    const rows = chosen.map((document) => state.b < 0
      ? [lists.documents[state.topic][document], rank(state.a, document), change(a, document)]
      : [lists.documents[state.topic][document], rank(state.a, document), rank(state.b, document), change(a, document), change(b, document)]);
    const name = data.measures[window.fathoms.measure];
    const titles = state.b < 0 ? ["document", "rank", `${name} if relevant`]
      : ["document", "rank in A", "rank in B", `A's ${name} if relevant`, `B's ${name} if relevant`];
    return [
      make("h4", "", "Unjudged documents that matter most here"),
      grid(tableName("unjudged"), titles, 1, rows),
      make("p", "note", `How far the score on this topic would move if that document alone were judged at the highest grade; blank where it is not in the run's first ${lists.depth}.`),
    ];
  };
  const sideBySide = () => {
    if (!lists) {
      return [make("p", "note", "There are too many rankings to list their documents here; fathoms diff shows two runs side by side.")];
    }
    const pair = make("div", "rankings");
    pair.append(listOf(state.b < 0 ? "" : "A", state.a, state.b));
    if (state.b >= 0) pair.append(listOf("B", state.b, state.a));
    const title = lists.titles && lists.titles[state.topic];
    return [...(title ? [make("blockquote", "topic-text", title)] : []), pair, ...deciding()];
  };

  // -- which topics decide between the two

  const decisive = () => {
    if (state.b < 0) return [];
    const gaps = data.topics.map((name, t) => [t, difference(t)]).sort((x, y) => y[1] - x[1]);
    const total = gaps.reduce((sum, [, gap]) => sum + gap, 0);
    const ahead = gaps.filter(([, gap]) => gap > EQUAL).length, behind = gaps.filter(([, gap]) => gap < -EQUAL).length;
    const widest = Math.max(EQUAL, ...gaps.map(([, gap]) => Math.abs(gap)));
    const bars = make("div", "gaps");
    for (const [t, gap] of gaps) {
      const bar = make("button", t === state.topic ? "gap chosen" : "gap");
      bar.title = `topic ${data.topics[t]}: ${fixed(gap, true)}`;
      bar.setAttribute("aria-label", bar.title);
      const mark = make("i", gap < 0 ? "below" : "above");
      mark.style.height = `${(50 * Math.abs(gap)) / widest}%`;
      bar.append(mark);
      bar.addEventListener("click", () => { state.topic = t; writeAddress(); draw(); });
      bars.append(bar);
    }
    const n = gaps.length, equal = n - ahead - behind;
    const furthest = [...gaps].sort((x, y) => Math.abs(y[1]) - Math.abs(x[1]));
    const most = furthest[0];
    const apart = furthest.slice(0, 3).filter(([, gap]) => Math.abs(gap) > EQUAL).map(([t, gap]) => `${data.topics[t]} (${fixed(gap, true)})`);
    const where = apart.length ? ` Furthest apart on ${apart.length > 1 ? "topics" : "topic"} ${apart.join(", ")}.` : "";
    const without = n > 1 ? ` Without topic ${data.topics[most[0]]} the mean difference would be ${fixed((total - most[1]) / (n - 1), true)} instead of ${fixed(total / n, true)}.` : "";
    return [
      make("h4", "", `A is ahead on ${plural(ahead, "topic")}, B on ${behind}${equal ? `, and they are equal on ${equal}` : ""}`),
      bars,
      make("p", "note", `One bar per topic: A minus B by ${data.measures[measure()]}, as judged.${where}${without} Click a bar to see its topic.`),
    ];
  };

  // -- all runs on this topic

  const runs = () => {
    const t = state.topic;
    const { score, low, high } = data.scores[measure()];
    const ranked = data.runs.map((_, r) => r).sort((x, y) => score[y][t] - score[x][t]);
    const top = Math.max(1e-9, ...ranked.map((r) => (high[r] ? high[r][t] : score[r][t])));
    const place = new Map(data.orders[measure()].map((r, i) => [r, i + 1]));
    const rows = ranked.map((r, i) => {
      const bar = make("span", "bar");
      if (high[r]) bar.append(span("all", low[r][t], high[r][t], top));
      bar.append(span("score", score[r][t], score[r][t], top));
      return [String(i + 1), data.runs[r], bar, fixed(score[r][t]), low[r] ? fixed(low[r][t]) : "",
        high[r] ? fixed(high[r][t]) : "", String(place.get(r))];
    });
    const part = make("details");
    part.append(make("summary", "", `All runs on topic ${data.topics[t]}`));
    part.append(grid(tableName("runs"), ["", "run", `0 to ${top.toFixed(2)}`, "score", "low", "high", "rank overall"], 3, rows));
    return part;
  };

  const draw = () => {
    settle();
    const open = box.querySelector("details")?.open;
    const heading = state.b < 0 ? "Topic by topic" : "Two runs, topic by topic: which topics decide";
    box.replaceChildren(make("h3", "", heading), controls(), ...decisive(),
      make("h4", "", `Topic ${data.topics[state.topic]}`), make("p", "answer", answer()), ...sideBySide(), runs());
    if (open) box.querySelector("details").open = true;
  };
  addEventListener("hashchange", () => {
    if (!readAddress()) return;
    draw();
    box.scrollIntoView({ block: "start", behavior: "instant" });
  });
  document.addEventListener("measure", draw);
  if (readAddress()) addEventListener("load", () => box.scrollIntoView({ block: "start", behavior: "instant" }));
})();
