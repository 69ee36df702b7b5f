// Against which run the marks of the leaderboard are: the first, or one that is chosen.
"use strict";
(() => {
  const { data } = window.fathoms;
  const MARKS = { c: ["▼", "▲"], s: ["▼", "▲"], f: ["▽", "△"], o: ["·", "·"], t: ["=", "="] };
  const NAMES = { c: "certain", s: "supported", f: "fragile", o: "open", t: "tie" };
  const place = new Map(data.runs.map((run, i) => [run, i]));
  const n = data.runs.length;
  document.querySelectorAll(".against select").forEach((select) => select.addEventListener("change", () => {
    const measure = Number(select.dataset.board), pairs = data.pairs[measure], reference = place.get(select.value);
    select.closest(".leaders").querySelectorAll("li").forEach((row) => {
      const mark = row.lastElementChild, run = place.get(row.dataset.run);
      mark.className = mark.textContent = mark.title = "";
      if (run === reference) return;
      const [a, b] = run < reference ? [run, reference] : [reference, run];
      const pair = a * n - (a * (a + 1)) / 2 + b - a - 1;  // all pairs, in the order of `fathoms compare`
      const letter = pairs.verdict[pair], ahead = pairs.diff[pair] > 0 === (a === run);
      mark.className = NAMES[letter];
      mark.textContent = MARKS[letter][Number(ahead)];
      const obstacle = data.obstacles[pairs.missing[pair]];
      mark.title = `${NAMES[letter]}${obstacle ? ` (obstacle: ${obstacle})` : ""}: ${ahead ? "ahead of" : "behind"} ${select.value}`;
    });
  }));
})();
