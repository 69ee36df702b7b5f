// Charts: what a mark stands for, and saving as SVG or PNG, in the light colours whatever the page has; copying sentences.
"use strict";
(() => {
  const { make, button, save, show, hide } = window.fathoms;
  const INK = "#1d2733", PAPER = "#ffffff", EDGE = 8;
  const SVG = "http://www.w3.org/2000/svg";

  document.querySelectorAll(".chart svg").forEach((svg) => {
    svg.addEventListener("pointermove", (event) => {
      const mark = event.target.closest(".role-mark [aria-label]");
      if (mark) show(event, mark.getAttribute("aria-label").split("; "));
      else hide();
    });
    svg.addEventListener("pointerleave", hide);
  });

  const draw = (tag, attributes, text) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  // A bar made of boxes, drawn.
  const drawn = (figure) => {
    const parts = [...figure.querySelectorAll(".stack i")], keys = [...figure.querySelectorAll(".key")];
    const counts = parts.map((part) => Number(part.style.flexGrow)), total = counts.reduce((a, b) => a + b, 0);
    const colour = (part) => getComputedStyle(part).getPropertyValue("--v").trim();
    const svg = draw("svg", { xmlns: SVG, viewBox: "0 0 640 56", style: "width:640px" });
    let x = 0, at = 0;
    parts.forEach((part, i) => {
      const width = (640 * counts[i]) / total;
      svg.append(draw("rect", { x, y: 0, width, height: 20, fill: colour(part) }));
      svg.append(draw("rect", { x: at, y: 34, width: 11, height: 11, fill: colour(part) }));
      svg.append(draw("text", { x: at + 16, y: 44, "font-size": 13, "font-family": "system-ui, sans-serif", fill: "currentColor" },
        keys[i].textContent));
      x += width;
      at += 34 + 7.5 * keys[i].textContent.length;
    });
    return svg;
  };
  // The chart by itself, all of it inside its box: texts may stick out of the one it was made with.
  const alone = (figure) => {
    const own = figure.querySelector("svg") ?? drawn(figure), there = own.isConnected;
    if (!there) {
      own.style.cssText += ";position:absolute;visibility:hidden";
      figure.append(own);
    }
    const box = own.getBBox(), copy = own.cloneNode(true);
    if (!there) own.remove();
    const [x, y, w, h] = own.getAttribute("viewBox").split(/[ ,]+/).map(Number);
    const left = Math.min(x, box.x) - EDGE, top = Math.min(y, box.y) - EDGE;
    const width = Math.max(x + w, box.x + box.width) + EDGE - left, height = Math.max(y + h, box.y + box.height) + EDGE - top;
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.setAttribute("style", `color:${INK}`);
    copy.prepend(draw("title", {}, figure.querySelector("figcaption").textContent),
      draw("rect", { x: left, y: top, width, height, fill: PAPER }));
    return { width, height, text: new XMLSerializer().serializeToString(copy).replaceAll("currentColor", INK) };
  };
  const nameOf = (figure) => {
    const found = figure.id.match(/^(.*)-(\d+)$/), names = window.fathoms.data.measures;
    return found && names[found[2]] ? `${found[1]}-${names[found[2]]}` : figure.id;
  };
  document.querySelectorAll("figure.chart").forEach((figure) => {
    const tools = make("div", "tools");
    tools.append(make("span", "hint", "scroll \u2192"), button("SVG", "Save the chart as an SVG file", () =>
      save(`${nameOf(figure)}.svg`, "image/svg+xml", alone(figure).text)));
    tools.append(button("PNG", "Save the chart as a PNG file", () => {
      const { width, height, text } = alone(figure), image = new Image();
      image.onload = () => {
        const canvas = make("canvas");
        canvas.width = Math.ceil(2 * width);
        canvas.height = Math.ceil(2 * height);
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((blob) => save(`${nameOf(figure)}.png`, "image/png", blob), "image/png");
      };
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    }));
    (figure.querySelector(".box") ?? figure).prepend(tools);
  });

  // -- sentences to copy

  const written = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {  // no permission, or an old browser
      const area = make("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  document.querySelectorAll("button.copy").forEach((one) => {
    const label = one.textContent;
    one.addEventListener("click", async () => {
      await written(one.dataset.copy);
      one.textContent = "Copied";
      setTimeout(() => { one.textContent = label; }, 1500);
    });
  });
})();
