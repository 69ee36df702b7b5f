"use strict";
// What both pages use. Texts and names go into text nodes and nowhere else: nothing that a document says becomes HTML.

const POLL = 3000;
const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");

// -- talking to the server

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, options); // relative, so that the page can stand under any path
  const answer = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) {
    throw Object.assign(new Error(answer.error), { status: response.status });
  }
  return answer;
}

// -- answers, each with a key: sent again under it, an answer is saved once

const AGAIN = [500, 1500, 3000]; // waits before it is sent again
const pending = new Map(); // keys of answers of which it is not known what became of them
const UNKNOWN = "The server did not answer, so your grade may or may not have been saved. Press it again; it will not be saved twice.";
let unsure = null; // sends the last of these again, as soon as the server answers

function forget() {
  // The server has said where things stand, so what comes next is a new answer.
  pending.clear();
  unsure = null;
}

const isLost = (error) => !error.status || [502, 503, 504].includes(error.status); // on the way there, or the way back

async function save(path, body) {
  const about = JSON.stringify([path, body.topic, body.document]);
  const fresh = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0"));
  if (!pending.has(about)) pending.set(about, fresh.join(""));
  for (let turn = 0; ; turn += 1) {
    try {
      const answer = await ask(path, { ...body, key: pending.get(about) });
      pending.delete(about);
      return answer;
    } catch (error) {
      if (!isLost(error)) pending.delete(about);
      if (!isLost(error) || turn === AGAIN.length) throw error;
      await new Promise((resume) => { setTimeout(resume, AGAIN[turn]); });
    }
  }
}

async function enter() {
  // A link has its token behind the #, which browsers keep to themselves; here it becomes a cookie. Whether it did.
  const found = /^#token=(.*)$/.exec(location.hash);
  if (!found) return false;
  const page = location.pathname.endsWith("/organise") ? "organise" : "judge";
  const strip = () => history.replaceState(null, "", location.pathname + location.search);
  try {
    await ask("api/enter", { page, token: found[1] });
  } catch (error) {
    if (error.status === 401) strip(); // else it can be tried again by loading the page again
    throw error;
  }
  strip();
  location.reload(); // as whoever the link is for
  return true;
}

async function arrive() {
  // By a link somebody may come who is here already, perhaps as somebody else.
  try {
    return await enter();
  } catch (error) {
    report(error, "No connection to the server.");
    return false;
  }
}

addEventListener("hashchange", arrive);

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

async function reconnected() {
  // The connection is back.
  if (unsure) await unsure();
  else if ($("alert").dataset.lost) complain("");
}

function report(error, lost) {
  if (error.status) complain(sentence(error.message));
  else if (!$("alert").dataset.lost) lose(lost);
}

// -- showing

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
const percent = (share) => `${+(100 * share).toFixed(1)}%`;

function element(tag, words, kind) {
  const made = document.createElement(tag);
  if (words !== undefined) made.textContent = words;
  if (kind) made.className = kind;
  return made;
}

function button(words, kind, work) {
  const made = element("button", words, kind);
  made.type = "button";
  made.addEventListener("click", work);
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
    const why = task.document.failed ? "This document cannot be shown." : "No text available.";
    body.append(element("p", `${why} You can still grade it if you know it, or skip it.`, "none"));
  } else if (!task.document.body.length) {
    body.append(element("p", "The text is empty.", "none"));
  }
}

async function readAgain(topic, id) {
  try {
    const task = await ask("api/text", { topic, document: id });
    $("reader-label").textContent = `Topic ${topic}: ${task.topic.title.join("")}`;
    putDocument(task, $("reader-title"), element("span"), $("reader-body"));
    $("reader").showModal();
  } catch (error) {
    report(error, "No connection to the server.");
  }
}

// Grades that differ, and buttons that set the final one.
function showDisagreements(list, most, settle) {
  const now = JSON.stringify(list);
  if ($("differ").dataset.shown === now) return; // whoever is at a button there stays there
  $("differ").dataset.shown = now;
  $("differ").replaceChildren(...list.map((one) => {
    const item = element("li");
    item.append(element("p", `Topic ${one.topic}, document ${one.document}`));
    const words = one.grades.map(([who, grade, note]) => `${who}: ${grade}${note ? ` (${note})` : ""}`).join(", ");
    item.append(element("p", words + (one.final ? `; final ${one.final[1]}, by ${one.final[0]}` : ""), "muted"));
    const row = element("div", undefined, "row");
    row.append(button("Read", "quiet", () => readAgain(one.topic, one.document)));
    for (let grade = 0; grade <= most; grade++) {
      const kind = one.final && one.final[1] === grade ? "grade final" : "grade";
      const choice = button(String(grade), kind, () => settle(one, grade));
      choice.setAttribute("aria-label", `Final grade ${grade} for document ${one.document}`);
      row.append(choice);
    }
    item.append(row);
    return item;
  }));
}

function options(select, entries, first) {
  // Keeps what is chosen, as long as it is there.
  const now = JSON.stringify(entries);
  if (select.dataset.shown === now) return;
  select.dataset.shown = now;
  const chosen = select.value;
  select.replaceChildren(...[["", first], ...entries].map(([value, words]) => {
    const option = element("option", words);
    option.value = value;
    return option;
  }));
  select.value = entries.some(([value]) => value === chosen) ? chosen : "";
}

// Names of runs often differ at their ends alone.
const middle = (text, most) => (text.length > most
  ? `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(-Math.floor(most / 2))}` : text);

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
