"use strict";
// The organiser's page: how far it is, who does what, where people differ.

let about = null;
let state = null;
let listed = ""; // what the list of judgments was last asked for
let busy = false;

async function poll() {
  if (!document.hidden) {
    try {
      if (!about) about = await ask("api/about");
      show((await ask("api/organise")).state);
      await list();
      await reconnected();
    } catch (error) {
      report(error, "No connection to the server; trying again.");
    }
  }
  setTimeout(poll, POLL);
}

function show(now) {
  state = now;
  $("count").textContent = `${number.format(now.judged)} judged, ${number.format(now.relevant)} relevant`
    + (now.skipped ? `, ${number.format(now.skipped)} skipped` : "");
  showComparison(now, false);
  $("agreement").textContent = agreement(now);
  $("assessors").replaceChildren(...now.assessors.map(person));
  options($("by-assessor"), now.assessors.map((one) => [one.name, one.name]), "All");
  $("open").closest("table").classList.toggle("one-measure", now.measures.length < 2);
  $("open").replaceChildren(...now.open.map(([better, other, sure, measure]) => {
    const row = element("tr");
    for (const name of [better, other]) {
      const cell = element("td", middle(name, 24), "cut");
      cell.title = name;
      row.append(cell);
    }
    row.append(element("td", measure));
    const cell = element("td", `0${rounded(sure)}`.replace("0>", ">0"));
    cell.title = sure.toFixed(4);
    row.append(cell);
    return row;
  }));
  const left = now.pairs - now.settled - now.open.length;
  $("more-open").textContent = left > 0 ? `and ${number.format(left)} more` : "";
  $("no-open").hidden = now.open.length > 0;
  $("open").closest("table").hidden = !now.open.length;
  $("no-differ").textContent = now.disagreements.length
    ? "The first counts until somebody sets the final grade."
    : now.double ? "None." : "None: each document is judged once. Have a share judged twice with --judge-twice.";
  $("settler").hidden = !now.disagreements.length;
  showDisagreements(now.disagreements, now.max_grade, settle);
}

function person(one) {
  const row = element("tr");
  const name = element("th", one.name, one.here ? "cut here" : "cut");
  name.scope = "row";
  name.title = one.here && one.topic !== null ? `${one.name}, at work on topic ${one.topic}` : one.name;
  row.append(name);
  const cells = [
    number.format(one.judged),
    one.judged ? percent(one.relevant / one.judged) : "",
    one.skipped ? number.format(one.skipped) : "",
    one.revised ? number.format(one.revised) : "",
    one.seconds === null ? "" : one.seconds.toFixed(one.seconds < 10 ? 1 : 0),
    one.per_hour === null ? "" : number.format(Math.round(one.per_hour)),
    one.kappa === null ? "" : one.kappa.toFixed(2),
    seen(one),
  ];
  row.append(...cells.map((words) => element("td", words)));
  row.children[7].title = one.twice ? `Cohen's kappa with others, ${one.twice} documents` : "";
  return row;
}

function seen(one) {
  if (one.here) return one.topic === null ? "now" : `now, topic ${one.topic}`;
  if (one.seen !== null) return ago(one.seen);
  return one.last ? ago((Date.now() - Date.parse(one.last)) / 1000) : "never";
}

function ago(seconds) {
  if (seconds < 90) return "a minute ago";
  if (seconds < 5400) return `${Math.round(seconds / 60)} minutes ago`;
  return seconds < 129600 ? `${Math.round(seconds / 3600)} hours ago` : `${Math.round(seconds / 86400)} days ago`;
}

function clock(time) {
  // The hour, and the day where that is not today.
  const then = new Date(time);
  const hour = then.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  const day = then.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return then.toDateString() === new Date().toDateString() ? hour : `${day}, ${hour}`;
}

async function list() {
  const wanted = new URLSearchParams({ assessor: $("by-assessor").value, topic: $("by-topic").value }).toString();
  if (listed === `${state.version} ${wanted}`) return;
  const found = await ask(`api/judgments?${wanted}`);
  listed = `${state.version} ${wanted}`;
  options($("by-topic"), found.topics.map(([id, title]) => [id, shortened(title ? `${id}: ${title}` : id, 60)]), "All");
  $("judgments").replaceChildren(...found.judgments.map((one) => {
    const row = element("tr");
    const when = element("td", clock(one.time));
    when.title = one.time;
    const who = element("td", one.assessor, "cut");
    who.title = one.assessor;
    const topic = element("td", one.topic, "cut");
    topic.title = one.topic_title || one.topic;
    const what = element("td", undefined, "cut");
    const read = button(one.title || one.document, "plain", () => readAgain(one.topic, one.document));
    read.title = `${one.document}: ${one.title}`;
    what.append(read);
    const words = one.kind === "skip" ? "skipped" : one.kind === "final" ? `${one.grade} (final)` : String(one.grade);
    const grade = element("td", words);
    if (one.revised_from.length) grade.append(element("span", ` revised from ${one.revised_from.join(", ")}`, "muted"));
    const note = element("td", one.note, "cut");
    note.title = one.note;
    row.append(when, who, topic, what, grade, note);
    return row;
  }));
  $("judgments-more").textContent = !found.judgments.length ? "Nothing yet."
    : found.judgments.length < 200 ? "" : "The latest 200; “Who judged what” above has them all.";
}

async function settle(one, grade) {
  if (busy) return;
  busy = true;
  unsure = null;
  try {
    const name = $("settler-name").value.trim() || "organiser";
    const answer = await save("api/settle", { name, topic: one.topic, document: one.document, grade });
    forget();
    show(answer.state);
    complain("");
    $("live").textContent = `Final grade ${answer.already ? answer.already.grade : grade} saved.`;
    await list();
  } catch (error) {
    if (isLost(error)) {
      lose(UNKNOWN);
      unsure = () => settle(one, grade);
    } else {
      complain(sentence(error.message));
    }
  } finally {
    busy = false;
  }
}

$("settler").addEventListener("submit", (event) => event.preventDefault());
$("settler-name").value = localStorage.getItem("fathoms-organiser") || "organiser";
$("settler-name").addEventListener("change", () => localStorage.setItem("fathoms-organiser", $("settler-name").value));
$("reader-close").addEventListener("click", () => $("reader").close());
for (const filter of ["by-assessor", "by-topic"]) {
  $(filter).addEventListener("change", () => list().catch((error) => report(error, "No connection to the server.")));
}
arrive().then((leaves) => { if (!leaves) poll(); });
