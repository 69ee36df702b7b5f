"use strict";
// The page for assessors.

let about = null; // what does not change: grades, guidelines, what may be seen
let name = "";
let current = null; // the document at hand
let revising = null; // a document that was judged before, shown in its place
let lastTopic = null;
let state = null;
let busy = false;
let active = true; // whether anybody did anything since the last poll

// -- talking to the server

async function change(path, body, tell, done = show) {
  // Have it saved, and tell what became of it.
  if (busy) return;
  await send(path, { name, ...body }, tell, done, false);
}

async function send(path, body, tell, done, isAgain) {
  busy = true;
  unsure = null;
  for (const one of document.querySelectorAll("#bar button")) one.disabled = true;
  try {
    const answer = await save(path, body);
    complain("");
    done(answer);
    tell(answer.already, isAgain);
  } catch (error) {
    if (isLost(error)) {
      lose(UNKNOWN);
      unsure = () => send(path, body, tell, done, true);
    } else {
      complain(sentence(error.message));
    }
    if (error.status === 409) await renew();
  } finally {
    busy = false;
    for (const one of document.querySelectorAll("#bar button")) one.disabled = false;
    for (const one of document.querySelectorAll(".pressed")) one.classList.remove("pressed");
  }
}

async function renew() {
  try {
    show(await ask("api/next", { name }));
  } catch (error) {
    if (error.status) complain(sentence(error.message));
    else lose("No connection to the server.");
  }
}

async function poll() {
  if (!busy && !document.hidden) {
    const waits = name && current === null && !unsure;
    busy = waits;
    try {
      if (waits) {
        show(await ask("api/next", { name }));
      } else {
        const idle = `api/state?${new URLSearchParams({ name })}`;
        show(active && name ? await ask("api/keep", { name }) : await ask(idle));
      }
      active = false;
      if (waits) busy = false;
      if (!busy) await reconnected();
    } catch (error) {
      report(error, "No connection to the server; trying again.");
    } finally {
      if (waits) busy = false;
    }
  }
  setTimeout(poll, POLL);
}

// -- the document

const key = (task) => (task ? JSON.stringify([task.topic.id, task.document.id]) : "");

function show(answer) {
  state = answer.state;
  if (answer.document !== undefined) {
    forget();
    const isNew = key(answer.document) !== key(current) || (answer.document === null && $("pause").hidden);
    current = answer.document;
    if (isNew && !revising) showDocument();
  }
  showState();
}

function showDocument() {
  const task = revising ? revising.task : current;
  $("task").hidden = task === null;
  $("pause").hidden = task !== null;
  $("revising").hidden = !revising;
  for (const id of ["undo", "skip"]) $(id).hidden = Boolean(revising);
  closeForms();
  markGrade(revising ? revising.grade : null);
  if (task === null) {
    showPause();
    $("pause-title").focus({ preventScroll: true });
    $("live").textContent = `${$("pause-title").textContent}. ${$("pause-text").textContent}`;
    return;
  }
  showTopic(task.topic);
  putDocument(task, $("doc-title"), $("doc-id"), $("doc-body"));
  showPassages(task.document);
  $("note-text").value = revising ? revising.note : "";
  if (revising && revising.note) $("note-form").hidden = false;
  scrollTo(0, 0);
  $("doc-title").focus({ preventScroll: true });
  $("live").textContent = `${revising ? $("revising-text").textContent : "New document."} `
    + `${$("new-topic").hidden ? "Topic" : "New topic"}: ${$("topic-title").textContent}. `
    + `Document: ${$("doc-title").textContent}.`;
}

function showTopic(topic) {
  $("topic-id").textContent = topic.id;
  if (topic.title.join("")) fill($("topic-title"), topic.title);
  else $("topic-title").textContent = topic.body ? "" : `Topic ${topic.id}`;
  paragraphs($("topic-body"), topic);
  if (topic.body === null) $("topic-body").append(element("p", topic.failed ? "The text of this topic cannot be shown." : "The text of this topic is not available.", "muted"));
  $("new-topic").hidden = Boolean(revising) || lastTopic === null || lastTopic === topic.id;
  if (!revising) lastTopic = topic.id;
}

function showPassages(part) {
  // Those that match the topic, before a long text; each leads to its place.
  const list = part.passages || [];
  $("passages").hidden = !list.length;
  const found = [];
  [...list].reverse().forEach(([paragraph, start, end]) => { // from the end, so that places stay right
    const parts = wrapped($("doc-body").children[paragraph], start, end, () => element("span", undefined, "place"));
    found.unshift(parts);
  });
  $("passages-list").replaceChildren(...found.map((parts) => {
    const item = element("li");
    const link = button(undefined, "passage", () => {
      for (const part of document.querySelectorAll(".place.shown")) part.classList.remove("shown");
      for (const part of parts) part.classList.add("shown");
      parts[0].scrollIntoView({ block: "center" });
    });
    for (const part of parts) link.append(...[...part.cloneNode(true).childNodes].map(cloned(part)));
    link.title = "Show it in the text";
    item.append(link);
    return item;
  }));
}

// A word that the topic has too stays marked where a passage is shown by itself.
const cloned = (part) => (node) => {
  if (part.parentElement.tagName !== "MARK") return node;
  const marked = element("mark");
  marked.append(node);
  return marked;
};

function wrapped(root, start, end, make) {
  // The text from start to end goes into elements of its own, one for each piece of text it is made of.
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const pieces = [];
  let at = 0;
  for (let node = walker.nextNode(); node && at < end; node = walker.nextNode()) {
    const from = Math.max(start - at, 0), to = Math.min(end - at, node.length);
    if (from < to) pieces.push([node, from, to]);
    at += node.length;
  }
  return pieces.map(([node, from, to]) => {
    const part = from ? node.splitText(from) : node;
    if (to - from < part.length) part.splitText(to - from);
    const made = make();
    part.replaceWith(made);
    made.append(part);
    return made;
  });
}

function showPause() {
  const all = state.standings;
  const settled = all && all.pairs > 0 && all.settled === all.pairs && all.ended;
  $("pause-title").textContent = settled ? "All settled" : state.ended ? "That is all" : "One moment";
  $("pause-text").textContent = state.ended
    ? `${state.ended.split(";")[0].replace(/\.?$/, ".")} You judged ${number.format(state.judged)} of the `
      + `${number.format(state.all_judged)} documents. Thank you.`
    : "The remaining documents are with other assessors, or still being chosen. This page checks again by itself.";
  $("ranking").replaceChildren(...(state.ended && all ? all.runs : []).slice(0, MOST).map((run) => {
    const item = element("li", middle(run.name, 40));
    item.title = run.name;
    item.append(element("span", `expected ${all.measures[0]} ${run.expected.toFixed(4)}`));
    return item;
  }));
}

function showState() {
  if (!state) return;
  $("count").textContent = `${number.format(state.judged)} judged, ${number.format(state.relevant)} relevant`
    + (state.skipped ? `, ${number.format(state.skipped)} skipped` : "");
  $("count").title = `By you; ${number.format(state.all_judged)} by all together`;
  if (state.standings) showStandings(state.standings);
  if (current === null && !revising && !$("pause").hidden) showPause();
}

function showStandings(all) {
  showComparison(all, current !== null);
  const weakest = all.weakest;
  $("weakest").textContent = weakest
    ? `Least sure: ${middle(weakest[0], 24)} better than ${middle(weakest[1], 24)} (0${rounded(weakest[2])})` : "";
  $("weakest").title = weakest ? `${weakest[0]} better than ${weakest[1]}` : "";
  $("people-card").hidden = all.assessors.length < 2 && !all.double;
  $("people").replaceChildren(...all.assessors.map((person) => {
    const item = element("li", undefined, person.here ? "here" : "");
    item.append(element("span", person.name + (person.name === name ? " (you)" : "")));
    item.append(element("b", number.format(person.judged)));
    if (person.here) item.title = "at work";
    return item;
  }));
  $("agreement").textContent = agreement(all);
  $("differ-card").hidden = !all.disagreements.length;
  showDisagreements(all.disagreements, about.max_grade, settle);
}

async function settle(one, grade) {
  const body = { topic: one.topic, document: one.document, grade };
  const tell = (already) => { $("live").textContent = `Final grade ${already ? already.grade : grade} saved.`; };
  await change("api/settle", body, tell, (answer) => show({ state: { ...state, standings: answer.state } }));
}

// -- grades

function meaning(grade) {
  if (about.grades.length) return about.grades[grade][0];
  if (grade < about.rel) return grade ? "Hardly" : "Not relevant";
  return grade === about.max_grade && grade > about.rel ? "Highly relevant" : "Relevant";
}

function makeGrades() {
  const every = Array.from({ length: about.max_grade + 1 }, (_, grade) => grade);
  $("grades").classList.toggle("many", about.max_grade > 4);
  $("grades").replaceChildren(...every.map((grade) => {
    const choice = button(undefined, grade >= about.rel ? "relevant" : "", () => give(grade));
    choice.dataset.grade = grade;
    const [, description] = about.grades[grade] || [];
    choice.setAttribute("aria-label", `Grade ${grade}: ${meaning(grade)}`);
    if (description) choice.title = description;
    if (grade < 10) choice.setAttribute("aria-keyshortcuts", String(grade));
    choice.append(element("kbd", String(grade)));
    choice.append(element("span", about.max_grade > 3 && !about.grades.length ? `Grade ${grade}` : meaning(grade)));
    return choice;
  }));
  $("help-grades").replaceChildren(...every.map((grade) => {
    const [, description] = about.grades[grade] || [];
    const row = element("div"), term = element("dt"), words = element("dd", meaning(grade));
    term.append(grade < 10 ? element("kbd", String(grade)) : String(grade));
    if (description) words.append(element("small", description));
    row.append(term, words);
    return row;
  }));
}

function markGrade(grade) {
  for (const one of $("grades").children) {
    const is = grade !== null && Number(one.dataset.grade) === grade;
    one.classList.toggle("given", is);
    if (grade === null) one.removeAttribute("aria-pressed");
    else one.setAttribute("aria-pressed", String(is));
  }
}

function showGuidelines() {
  const blocks = about.guidelines;
  $("guidelines").hidden = $("help-guidelines").hidden = !blocks.length;
  const words = (target, pieces) => {
    target.append(...pieces.map(([text, kind]) => (kind ? element(kind, text) : document.createTextNode(text))));
    return target;
  };
  $("guidelines-body").replaceChildren(...blocks.map((block) => {
    if (block.kind === "heading") return words(element(block.level < 3 ? "h3" : "h4"), block.words);
    if (block.kind === "paragraph") return words(element("p"), block.words);
    const list = element(block.kind === "ordered" ? "ol" : "ul");
    list.append(...block.items.map((item) => words(element("li"), item)));
    return list;
  }));
}

// -- answering

async function give(grade) {
  if (busy || grade > about.max_grade) return;
  if (revising) {
    await revise(grade);
    return;
  }
  if (!current) return;
  const { topic, document: shown } = current;
  const pressed = $("grades").children[grade];
  if (pressed) pressed.classList.add("pressed");
  const body = { topic: topic.id, document: shown.id, grade, note: $("note-text").value };
  await change("api/grade", body, (already, isAgain) => {
    const saved = already ? already.grade : grade; // of an answer that was sent again, what was saved the first time
    if (isAgain) said(`Your grade ${saved} was saved.`);
    else said(`Saved${already ? " already" : ""}: ${shown.id} as ${saved}`);
  });
}

async function revise(grade) {
  const { task, grade: before, note } = revising;
  if (grade === before && $("note-text").value.trim() === note) {
    leaveRevising();
    said(`Unchanged: ${task.document.id} is ${grade}`);
    return;
  }
  const body = { topic: task.topic.id, document: task.document.id, grade, note: $("note-text").value };
  await change("api/revise", body, (already) => {
    if (revising && revising.task === task) leaveRevising();
    const words = `Changed: ${task.document.id} ${before === null ? "" : `from ${before} `}to ${grade}`;
    said(already ? `Saved already: ${task.document.id} as ${already.grade}` : words);
  });
}

async function skip() {
  if (!current || revising) return;
  const { topic, document: shown } = current;
  const note = [$("note-text").value, $("skip-text").value].map((text) => text.trim()).filter(Boolean).join(" ");
  await change("api/skip", { topic: topic.id, document: shown.id, note }, (already) => {
    said(`Skipped${already ? " already" : ""}: ${shown.id}`);
  });
}

async function undo() {
  if (!revising) await change("api/undo", {}, (already) => said(already ? "Taken back already." : "Taken back."));
}

function said(text) {
  $("saved").textContent = text;
  $("live").textContent = `${text} ${$("live").textContent}`;
  showHistory();
}

// -- what was judged before

async function showHistory() {
  if (!name || !$("history").open) return;
  try {
    const found = await ask("api/history", { name, topic: $("history-topic").value });
    options($("history-topic"), found.topics.map(([id, title]) => [id, shortened(title ? `${id}: ${title}` : id, 48)]), "All topics");
    $("history-list").replaceChildren(...found.judgments.filter((one) => one.kind !== "final").map((one) => {
      const item = element("li");
      const entry = button(undefined, "plain", () => openAgain(one));
      const grade = element("b", one.kind === "skip" ? "–" : String(one.grade), one.grade >= about.rel ? "relevant" : "");
      grade.title = one.kind === "skip" ? "skipped" : meaning(one.grade);
      const words = element("span", one.title || one.document);
      const below = [one.topic_title || `Topic ${one.topic}`];
      if (one.revised_from.length) below.push(`changed from ${one.revised_from.join(", ")}`);
      if (one.note) below.push(one.note);
      words.append(element("small", below.join(" · ")));
      entry.title = one.document;
      entry.append(grade, words);
      item.append(entry);
      return item;
    }));
    if (!found.judgments.length) $("history-list").append(element("li", "Nothing yet.", "muted"));
  } catch (error) {
    report(error, "No connection to the server.");
  }
}

async function openAgain(one) {
  if (busy) return;
  try {
    const task = await ask("api/text", { topic: one.topic, document: one.document });
    revising = { task, grade: one.grade, note: one.note };
    $("revising-text").textContent = one.kind === "skip" ? "You skipped this document. Give it a grade, if you like."
      : `You gave this document grade ${one.grade} (${meaning(one.grade)}). Choose another to change it.`;
    showDocument();
  } catch (error) {
    report(error, "No connection to the server.");
  }
}

function leaveRevising() {
  revising = null;
  $("revising").hidden = true;
  showDocument();
  $("new-topic").hidden = true;
}

// -- find in the document

let hits = [], hit = -1;

function find() {
  clearHits();
  const wanted = $("find-text").value.trim();
  if (wanted) {
    const pattern = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/\s+/g, "\\s+"), "giu");
    for (const block of [$("doc-title"), ...$("doc-body").children]) {
      const places = [...block.textContent.matchAll(pattern)].map((match) => [match.index, match.index + match[0].length]);
      const made = places.reverse().map(([start, end]) => wrapped(block, start, end, () => element("span", undefined, "hit")));
      hits.push(...made.reverse());
    }
    hit = -1;
    step(1);
  }
  $("find-count").textContent = !wanted ? "" : hits.length ? $("find-count").textContent : "not found";
}

function clearHits() {
  for (const part of hits.flat()) {
    const parent = part.parentNode;
    if (!parent) continue;
    part.replaceWith(...part.childNodes);
    parent.normalize();
  }
  hits = [];
  $("find-count").textContent = "";
}

function step(by) {
  if (!hits.length) return;
  for (const part of hits[hit] || []) part.classList.remove("now");
  hit = (hit + by + hits.length) % hits.length;
  for (const part of hits[hit]) part.classList.add("now");
  hits[hit][0].scrollIntoView({ block: "center" });
  $("find-count").textContent = `${number.format(hit + 1)} of ${number.format(hits.length)}`;
}

// -- fields and keys

function closeForms() {
  for (const which of ["note", "skip", "find"]) {
    $(`${which}-form`).hidden = true;
    if (which !== "skip") $(which).setAttribute("aria-expanded", "false");
  }
  $("skip-text").value = "";
  clearHits();
}

function openForm(which) {
  const hidden = !$(`${which}-form`).hidden && which !== "note";
  const text = $("note-text").value;
  closeForms();
  $("note-text").value = text;
  if (text) $("note-form").hidden = false;
  if (hidden) return;
  $(`${which}-form`).hidden = false;
  if (which !== "skip") $(which).setAttribute("aria-expanded", "true");
  $(`${which}-text`).focus({ preventScroll: true });
  if (which === "find") {
    $("find-text").select();
    find();
  }
}

function leave() {
  const kept = $("note-text").value.trim();
  const wasOpen = ["note", "skip", "find"].some((which) => !$(`${which}-form`).hidden && $(`${which}-form`).contains(document.activeElement));
  closeForms();
  if (kept) $("note-form").hidden = false;
  if (revising && !wasOpen) leaveRevising();
  $("doc-title").focus({ preventScroll: true });
}

function toggle(which, open = !$(which).open) {
  if ($(which).hidden) return;
  $(which).open = open;
  if (open) {
    $(which).querySelector("summary").focus();
    $(which).scrollIntoView({ block: "nearest" });
  }
}

function onKey(event) {
  active = true;
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && !$("task").hidden) {
    leave();
    return;
  }
  if (event.target.closest("input, select") || event.repeat) return;
  const pressed = event.key.toLowerCase();
  if (/^[0-9]$/.test(pressed)) give(Number(pressed));
  else if (pressed === "?") $("help").showModal();
  else if (pressed === "h") toggle("history");
  else if (pressed === "g") toggle("guidelines");
  else if (pressed === "u") undo();
  else if (pressed === "s" && current && !revising) event.shiftKey ? openForm("skip") : skip();
  else if (pressed === "n" && !$("task").hidden) openForm("note");
  else if (pressed === "/" && !$("task").hidden) openForm("find");
  else return;
  event.preventDefault();
}

// -- begin

function remembered(which, standard) {
  // Open or closed, as it was left in this browser.
  const stored = localStorage.getItem(`fathoms-${which}`);
  $(which).open = stored === null ? standard : stored === "open";
  $(which).addEventListener("toggle", () => {
    localStorage.setItem(`fathoms-${which}`, $(which).open ? "open" : "closed");
    if (which === "history") showHistory();
  });
}

function listen() {
  for (const happening of ["pointerdown", "scroll", "wheel", "touchmove"]) {
    addEventListener(happening, () => { active = true; }, { passive: true });
  }
  addEventListener("keydown", onKey);
  $("undo").addEventListener("click", undo);
  $("undo-last").addEventListener("click", undo);
  for (const which of ["note", "find"]) $(which).addEventListener("click", () => openForm(which));
  // At once: what is typed next is a grade of the next document, and no reason for this one.
  $("skip").addEventListener("click", (event) => (event.shiftKey ? openForm("skip") : skip()));
  $("skip-form").addEventListener("submit", (event) => { event.preventDefault(); skip(); });
  $("note-form").addEventListener("submit", (event) => { event.preventDefault(); leave(); });
  $("find-form").addEventListener("submit", (event) => { event.preventDefault(); step(1); });
  $("find-text").addEventListener("input", find);
  $("find-text").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    step(-1);
  });
  $("find-previous").addEventListener("click", () => step(-1));
  $("revising-back").addEventListener("click", leaveRevising);
  $("history-topic").addEventListener("change", showHistory);
  $("reader-close").addEventListener("click", () => $("reader").close());
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("help-close").addEventListener("click", () => $("help").close());
  for (const which of ["history", "guidelines"]) {
    $(`help-${which}`).addEventListener("click", () => {
      $("help").close();
      toggle(which, true);
    });
  }
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
}

async function begin() {
  try {
    about = await ask("api/about");
  } catch (error) {
    report(error, "No connection to the server; trying again.");
    setTimeout(begin, POLL);
    return;
  }
  complain("");
  listen();
  makeGrades();
  showGuidelines();
  const wide = matchMedia("(min-width: 60.01rem)").matches;
  remembered("guidelines", wide);
  remembered("history", wide);
  for (const one of document.querySelectorAll(".standings")) one.hidden = !about.standings;
  const known = about.name || localStorage.getItem("fathoms-name");
  if (about.name) {
    $("who").disabled = true;
    $("who").title = "This link is yours alone";
  }
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
  showHistory();
}

arrive().then((leaves) => { if (!leaves) begin(); });
