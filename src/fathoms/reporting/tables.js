// Tables: sort by a column, find rows, show more of them, save as CSV; and boxes that say when there is more to the side.
"use strict";
(() => {
  const { data, make, button, save, guarded, csv } = window.fathoms;
  const SHOWN = 25;

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

  // Shares are written as numbers; what is drawn in a cell has no text, and is left out with its column.
  const saved = (cell, numeric) => {
    const text = cell.textContent.trim();
    if (numeric && text.endsWith("%") && cell.dataset.v) return cell.dataset.v;
    return guarded(text, numeric && text !== "" && !Number.isNaN(Number(text)));
  };
  const asCsv = (table, rows) => {
    const heads = [...table.tHead.rows[0].cells];
    const columns = heads.map((_, i) => i).filter((i) => ![...table.tBodies[0].rows].some((row) => row.cells[i].querySelector(".bar")));
    const title = (i) => heads[i].textContent.trim() || "rank";
    return csv([columns.map(title), ...rows.map((row) => columns.map((i) => saved(row.cells[i], heads[i].className === "n")))]);
  };
  // runs-1 is of the second measure.
  const nameOf = (id) => {
    const found = id.match(/^(.*)-(\d+)$/);
    return found && data.measures[found[2]] ? `${found[1]}-${data.measures[found[2]]}` : id;
  };

  const enhance = (table) => {
    const body = table.tBodies[0], tools = make("div", "tools");
    let rows = [...body.rows], limit = SHOWN, wanted = "";
    const found = () => rows.filter((row) => row.textContent.toLowerCase().includes(wanted));
    const more = make("button", "more");
    const render = () => {
      const matching = found(), shown = new Set(matching.slice(0, limit));
      for (const row of rows) row.hidden = !shown.has(row);
      more.hidden = matching.length <= limit;
      more.textContent = `Show all ${matching.length.toLocaleString("en")} rows`;
    };
    more.addEventListener("click", () => { limit = Infinity; render(); });
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      head.addEventListener("click", () => {
        const sign = turn(head, head.className === "n" ? "descending" : "ascending");
        const keyed = rows.map((row) => [key(row.cells[column]), row]);
        keyed.sort((a, b) => (a[0] === "" || b[0] === "" ? 1 : sign) * compare(a[0], b[0]));
        rows = keyed.map((pair) => pair[1]);
        body.append(...rows);
        render();
      });
    });
    if (rows.length > 4) {
      const input = make("input", "find");
      input.type = "search";
      input.placeholder = "Find ...";
      input.setAttribute("aria-label", "Find in the table");
      input.addEventListener("input", () => { wanted = input.value.toLowerCase(); render(); });
      tools.append(input);
    }
    tools.append(make("span", "hint", "scroll \u2192"));
    tools.append(button("CSV", "Save the rows found as a CSV file", () =>
      save(`${nameOf(table.id)}.csv`, "text/csv", asCsv(table, found()))));
    const box = table.closest(".box");
    box.prepend(tools);
    box.append(more);
    addEventListener("beforeprint", () => { limit = Infinity; render(); });
    render();
  };
  document.querySelectorAll("table.sortable").forEach(enhance);

  // -- what sticks out of its box

  const look = (scroll) => {
    const left = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft;
    scroll.parentNode.classList.toggle("sticks-out", left > 2);
  };
  const sizes = new ResizeObserver((entries) => entries.forEach((entry) => look(entry.target)));
  const watch = (scroll) => {
    scroll.addEventListener("scroll", () => look(scroll), { passive: true });
    sizes.observe(scroll);
    look(scroll);
  };
  document.querySelectorAll(".box > .scroll").forEach(watch);

  Object.assign(window.fathoms, { compare, turn, enhance, watch });
})();
