"use strict";
// The judging page. Texts and names go into text nodes and nowhere else: nothing that a document says becomes HTML.

const watching = location.pathname === "/watch";
const POLL = 3000;
const MANY = 12; // systems from which the matrix has no numbers
const MOST = 24; // systems in the matrix
const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");

let name = "";
let current = null; // the document at hand
let state = null;
let busy = false;
let active = true; // whether anybody did anything since the last poll

// -- talking to the server

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) {
    throw Object.assign(new Error(answer.error), { status: response.status });
  }
  return answer;
}

async function change(path, body) {
  if (busy) return false;
  busy = true;
  for (const button of document.querySelectorAll("#bar button")) button.disabled = true;
  try {
    const answer = await ask(path, { name, ...body });
    complain("");
    show(answer);
    return true;
  } catch (error) {
    if (error.status) complain(sentence(error.message));
    else lose("No connection to the server; this answer was not saved.");
    if (error.status === 409) await renew();
    return false;
  } finally {
    busy = false;
    for (const button of document.querySelectorAll("#bar button")) button.disabled = false;
    for (const button of document.querySelectorAll(".pressed")) button.classList.remove("pressed");
  }
}

async function renew() {
  try {
    show(await ask("/api/next", { name }));
  } catch (error) {
    if (error.status) complain(sentence(error.message));
    else lose("No connection to the server.");
  }
}

async function poll() {
  if (!busy && !document.hidden) {
    const waits = !watching && name && current === null;
    busy = waits;
    try {
      if (watching || !name) {
        show(await ask("/api/state"));
      } else if (waits) {
        show(await ask("/api/next", { name }));
      } else {
        show(active ? await ask("/api/keep", { name }) : await ask("/api/state"));
      }
      active = false;
      if ($("alert").dataset.lost) complain("");
    } catch (error) {
      if (error.status) complain(sentence(error.message));
      else if (!$("alert").dataset.lost) lose("No connection to the server; trying again.");
    } finally {
      if (waits) busy = false;
    }
  }
  setTimeout(poll, POLL);
}

// -- showing

function complain(text) {
  $("alert").textContent = text;
  $("alert").hidden = !text;
  $("alert").dataset.lost = "";
}

function lose(text) {
  // Gone when the connection is back.
  complain(text);
  $("alert").dataset.lost = "yes";
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

function element(tag, words, kind) {
  const made = document.createElement(tag);
  if (words !== undefined) made.textContent = words;
  if (kind) made.className = kind;
  return made;
}

function fill(target, pieces) {
  // Every second piece is marked.
  target.replaceChildren(...pieces.map((words, i) => (i % 2 ? element("mark", words) : document.createTextNode(words))));
}

function paragraphs(target, part) {
  target.replaceChildren();
  for (const pieces of part.body || []) {
    const paragraph = element("p");
    fill(paragraph, pieces);
    target.append(paragraph);
  }
  if (part.cut) target.append(element("p", `The text goes on for ${number.format(part.cut)} characters.`, "none"));
}

function putDocument(task, title, label, body) {
  label.textContent = task.document.id;
  const has = task.document.title.join("");
  if (has) fill(title, task.document.title);
  else title.textContent = task.document.id;
  paragraphs(body, task.document);
  if (task.document.body === null) {
    body.append(element("p", "No text available. You can still grade it if you know it, or skip it.", "none"));
  } else if (!task.document.body.length) {
    body.append(element("p", "The text is empty.", "none"));
  }
}

const key = (task) => (task ? JSON.stringify([task.topic.id, task.document.id]) : "");

function show(answer) {
  state = answer.state;
  if (answer.document !== undefined) {
    const isNew = key(answer.document) !== key(current) || (answer.document === null && $("pause").hidden);
    current = answer.document;
    if (isNew) showDocument();
  }
  showState();
}

function showDocument() {
  $("task").hidden = current === null;
  $("pause").hidden = current !== null;
  closeForms();
  if (current === null) {
    showPause();
    $("pause-title").focus({ preventScroll: true });
    $("live").textContent = `${$("pause-title").textContent}. ${$("pause-text").textContent}`;
    return;
  }
  $("topic-id").textContent = current.topic.id;
  if (current.topic.title.join("")) fill($("topic-title"), current.topic.title);
  else $("topic-title").textContent = current.topic.body ? "" : `Topic ${current.topic.id}`;
  paragraphs($("topic-body"), current.topic);
  if (current.topic.body === null) $("topic-body").append(element("p", "No text of the topic is available.", "muted"));
  putDocument(current, $("doc-title"), $("doc-id"), $("doc-body"));
  $("note-text").value = "";
  scrollTo(0, 0);
  $("doc-title").focus({ preventScroll: true });
  $("live").textContent = `New document. Topic: ${$("topic-title").textContent}. Document: ${$("doc-title").textContent}.`;
}

function showPause() {
  const settled = state.pairs > 0 && state.settled === state.pairs && state.ended;
  $("pause-title").textContent = settled ? "All settled" : state.ended ? "That is all" : "One moment";
  $("pause-text").textContent = state.ended
    ? state.ended.split(";")[0].replace(/\.?$/, ".") + ` ${number.format(state.judged)} documents were judged.`
    : "The documents that are left are with other people, or being chosen. This page looks again by itself.";
  $("ranking").replaceChildren(...(state.ended ? state.systems : []).slice(0, MOST).map((system) => {
    const item = element("li", system.name);
    item.append(element("span", `expected MAP ${system.expected.toFixed(4)}`));
    return item;
  }));
}

function showState() {
  if (!state) return;
  $("count").textContent = `${number.format(state.judged)} judged, ${number.format(state.relevant)} relevant`
    + (state.skipped ? `, ${number.format(state.skipped)} skipped` : "");
  $("settled").textContent = `${number.format(state.settled)} of ${number.format(state.pairs)}`;
  $("settled-of").textContent = `${state.pairs === 1 ? "pair" : "pairs"} settled at ${state.until}`;
  const weakest = state.weakest;
  $("weakest").textContent = weakest ? `Least sure: ${weakest[0]} better than ${weakest[1]} (0${rounded(weakest[2])})` : "";
  $("forecast").textContent = forecast();
  $("most").textContent = Math.min(state.max_grade, 9);
  if ($("grades").children.length !== state.max_grade + 1) makeGrades();
  drawCurve();
  drawMatrix();
  showPeople();
  showDisagreements();
  if (current === null && !$("pause").hidden) showPause();
}

function forecast() {
  if (state.ended) return sentence(state.ended.split(";")[0]) + (current ? " You may still finish what is at hand." : "");
  if (!state.forecast) return "Too early to say how many more judgments it takes.";
  const [low, high] = state.forecast;
  if (!high) return "";
  return `Some ${low < high ? `${number.format(low)} to ` : ""}${number.format(high)} more judgments may settle it`
    + (state.budget ? `; the budget has ${number.format(Math.max(0, state.budget - state.judged))} left.` : ".");
}

function meaning(grade) {
  if (grade < state.rel) return grade ? "Hardly" : "Not relevant";
  return grade === state.max_grade && grade > state.rel ? "Highly relevant" : "Relevant";
}

function makeGrades() {
  $("grades").replaceChildren(...Array.from({ length: state.max_grade + 1 }, (_, grade) => {
    const button = element("button", undefined, grade >= state.rel ? "relevant" : "");
    button.type = "button";
    button.dataset.grade = grade;
    button.setAttribute("aria-label", `Grade ${grade}: ${meaning(grade)}`);
    if (grade < 10) button.setAttribute("aria-keyshortcuts", String(grade));
    button.append(element("kbd", String(grade)));
    button.append(element("span", state.max_grade > 3 ? `Grade ${grade}` : meaning(grade)));
    button.addEventListener("click", () => give(grade));
    return button;
  }));
}

// -- pictures

function drawn(tag, attributes, words) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  if (words !== undefined) made.textContent = words;
  return made;
}

function drawCurve() {
  const left = 26, right = 294, top = 8, bottom = 64;
  const points = state.trace;
  const first = points.length ? points[0][0] : 0;
  const last = points.length ? Math.max(...points.map((point) => point[0])) : 0;
  const x = (judged) => (last > first ? left + ((judged - first) / (last - first)) * (right - left) : left);
  const y = (least) => bottom - (Math.max(least - 0.5, 0) / 0.5) * (bottom - top);
  const goal = y(state.until);
  const title = $("curve-title");
  const now = points.length ? points[points.length - 1][1] : 0.5;
  title.textContent = `Confidence of the least sure pair: ${now.toFixed(2)} after ${number.format(last)} judgments`;
  const path = points.map((point, i) => `${i ? "L" : "M"}${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`).join("");
  $("curve").replaceChildren(
    title,
    drawn("line", { class: "floor", x1: left, x2: right, y1: bottom, y2: bottom }),
    drawn("line", { class: "goal", x1: left, x2: right, y1: goal, y2: goal }),
    drawn("text", { x: 0, y: goal + 3.5 }, String(state.until).replace(/^0/, "").slice(0, 4)),
    drawn("text", { x: 0, y: bottom + 3.5 }, ".5"),
    drawn("path", { class: "line", d: path }),
    ...points.slice(-1).map((point) => drawn("circle", { class: "dot", r: 3.5, cx: x(point[0]), cy: y(point[1]) })),
    drawn("text", { x: left, y: 80 }, "confidence of the least sure pair"),
    drawn("text", { x: right, y: 80, "text-anchor": "end" }, `${number.format(last)} judged`),
  );
}

function drawMatrix() {
  const systems = state.systems.slice(0, MOST);
  const table = $("matrix");
  const many = systems.length > MANY;
  table.className = many ? "matrix small" : "matrix";
  const head = element("thead");
  const names = element("tr");
  names.append(element("td"));
  for (const system of systems.slice(1)) {
    const cell = element("th", system.name);
    cell.scope = "col";
    cell.title = system.name;
    names.append(cell);
  }
  const map = element("th", "MAP");
  map.scope = "col";
  map.title = "expected MAP";
  names.append(map);
  head.append(names);
  const rows = systems.map((system, i) => {
    const row = element("tr");
    const label = element("th", system.name);
    label.scope = "row";
    label.title = `${system.name}: expected MAP ${system.expected.toFixed(4)}`;
    row.append(label);
    for (let j = 1; j < systems.length; j++) {
      const chance = state.confidence[i][j];
      if (j <= i || chance === null) {
        row.append(element("td"));
        continue;
      }
      const sure = Math.max(chance, 1 - chance);
      const cell = element("td", rounded(chance), sure >= state.until ? "settled" : "open");
      cell.title = `${system.name} better than ${systems[j].name}: ${chance.toFixed(4)}`;
      cell.setAttribute("aria-label", `${chance.toFixed(2)}, ${sure >= state.until ? "settled" : "open"}`);
      row.append(cell);
    }
    row.append(element("td", system.expected.toFixed(3), "value"));
    return row;
  });
  const body = element("tbody");
  body.append(...rows);
  table.replaceChildren(table.caption, head, body);
  const more = state.systems.length - systems.length;
  const entries = [["settled", "settled"], ["open", "open"]].map(([kind, words]) => {
    const entry = element("span");
    entry.append(element("i", "", kind), words);
    return entry;
  });
  $("legend").replaceChildren(...entries, element("span", "row better than column" + (more ? `; ${more} systems more` : "")));
}

function rounded(chance) {
  // Towards a half: 0.949 is not 0.95, and nothing is certain.
  const part = chance > 0.5 ? Math.floor(chance * 100) : Math.ceil(chance * 100);
  return chance > 0.99 ? ">.99" : chance < 0.01 ? "<.01" : (part / 100).toFixed(2).slice(1);
}

// -- people

function showPeople() {
  const people = state.assessors;
  $("people-card").hidden = people.length < 2 && !state.double;
  $("people").replaceChildren(...people.map((person) => {
    const item = element("li", undefined, person.here ? "here" : "");
    item.append(element("span", person.name + (person.name === name ? " (you)" : "")));
    item.append(element("b", number.format(person.judged)));
    if (person.here) item.title = "at work";
    return item;
  }));
  $("agreement").textContent = !state.double ? "" : !state.twice
    ? `${percent(state.double)} of the documents go to two people; none has two grades yet.`
    : `${number.format(state.twice)} judged twice, ${number.format(state.agreed)} of them alike`
      + (state.kappa === null ? "." : `; Cohen's kappa ${state.kappa.toFixed(2)}.`);
}

const percent = (share) => `${+(100 * share).toFixed(1)}%`;

function showDisagreements() {
  const list = state.disagreements;
  $("differ-card").hidden = !list.length;
  const now = JSON.stringify(list);
  if ($("differ").dataset.shown === now) return; // whoever is at a button there stays there
  $("differ").dataset.shown = now;
  $("differ").replaceChildren(...list.map((one) => {
    const item = element("li");
    item.append(element("p", `Topic ${one.topic}, document ${one.document}`));
    const words = one.grades.map(([who, grade, note]) => `${who}: ${grade}${note ? ` (${note})` : ""}`).join(", ");
    item.append(element("p", words + (one.final ? `; final ${one.final[1]}, by ${one.final[0]}` : ""), "muted"));
    if (watching) return item;
    const row = element("div", undefined, "row");
    const read = element("button", "Read", "quiet");
    read.type = "button";
    read.addEventListener("click", () => readAgain(one.topic, one.document));
    row.append(read);
    for (let grade = 0; grade <= state.max_grade; grade++) {
      const kind = one.final && one.final[1] === grade ? "grade final" : "grade";
      const button = element("button", String(grade), kind);
      button.type = "button";
      button.setAttribute("aria-label", `Final grade ${grade} for document ${one.document}`);
      button.addEventListener("click", () => settle(one, grade));
      row.append(button);
    }
    item.append(row);
    return item;
  }));
}

async function settle(one, grade) {
  const done = await change("/api/settle", { topic: one.topic, document: one.document, grade });
  if (done) $("live").textContent = `Final grade ${grade} saved.`;
}

async function readAgain(topic, id) {
  try {
    const task = await ask("/api/text", { topic, document: id });
    $("reader-label").textContent = `Topic ${topic}: ${task.topic.title.join("")}`;
    putDocument(task, $("reader-title"), element("span"), $("reader-body"));
    $("reader").showModal();
  } catch (error) {
    complain(sentence(error.message));
  }
}

// -- answering

async function give(grade) {
  if (!current || busy || grade > state.max_grade) return;
  const { topic, document: shown } = current;
  const button = $("grades").children[grade];
  if (button) button.classList.add("pressed");
  const body = { topic: topic.id, document: shown.id, grade, note: $("note-text").value };
  if (await change("/api/grade", body)) say(`Saved: ${shown.id} as ${grade}`);
}

async function skip() {
  if (!current) return;
  const { topic, document: shown } = current;
  const note = [$("note-text").value, $("skip-text").value].map((text) => text.trim()).filter(Boolean).join(" ");
  if (await change("/api/skip", { topic: topic.id, document: shown.id, note })) say(`Skipped: ${shown.id}`);
}

async function undo() {
  if (await change("/api/undo", {})) say("Taken back.");
}

function say(text) {
  $("saved").textContent = text;
  $("live").textContent = `${text} ${$("live").textContent}`;
}

function closeForms() {
  for (const which of ["note", "skip"]) {
    $(`${which}-form`).hidden = true;
    $(which).setAttribute("aria-expanded", "false");
  }
  $("skip-text").value = "";
}

function openForm(which) {
  const hidden = !$(`${which}-form`).hidden && which === "skip";
  const text = $("note-text").value;
  closeForms();
  if (hidden) return;
  $("note-text").value = text;
  $(`${which}-form`).hidden = false;
  if (text) $("note-form").hidden = false;
  $(which).setAttribute("aria-expanded", "true");
  $(`${which}-text`).focus({ preventScroll: true });
}

function leave() {
  const kept = $("note-text").value.trim();
  closeForms();
  if (kept) $("note-form").hidden = false;
  $("doc-title").focus({ preventScroll: true });
}

function onKey(event) {
  active = true;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && !$("task").hidden) {
    leave();
    return;
  }
  if (event.target.closest("input") || event.repeat) return;
  const pressed = event.key.toLowerCase();
  if (/^[0-9]$/.test(pressed)) give(Number(pressed));
  else if (pressed === "u") undo();
  else if ((pressed === "s" || pressed === "n") && current) openForm(pressed === "s" ? "skip" : "note");
  else return;
  event.preventDefault();
}

// -- begin

function begin() {
  if (watching) {
    document.body.classList.add("watch");
    document.title = "fathoms judge: watching";
    poll();
    return;
  }
  for (const happening of ["pointerdown", "scroll", "wheel", "touchmove"]) {
    addEventListener(happening, () => { active = true; }, { passive: true });
  }
  addEventListener("keydown", onKey);
  $("undo").addEventListener("click", undo);
  $("undo-last").addEventListener("click", undo);
  $("skip").addEventListener("click", () => openForm("skip"));
  $("note").addEventListener("click", () => openForm("note"));
  $("skip-form").addEventListener("submit", (event) => { event.preventDefault(); skip(); });
  $("note-form").addEventListener("submit", (event) => { event.preventDefault(); leave(); });
  $("reader-close").addEventListener("click", () => $("reader").close());
  $("who").addEventListener("click", meet);
  $("hello-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const given = $("hello-name").value.trim();
    if (!given) return;
    localStorage.setItem("fathoms-name", given);
    $("hello").close();
    welcome(given);
  });
  $("hello").addEventListener("cancel", (event) => { if (!name) event.preventDefault(); });
  const known = localStorage.getItem("fathoms-name");
  if (known) welcome(known);
  else meet();
  setTimeout(poll, known ? POLL : 0);
}

function meet() {
  $("hello-name").value = name;
  $("hello").showModal();
}

async function welcome(given) {
  name = given;
  $("who").textContent = given;
  $("who").hidden = false;
  await renew();
}

begin();
