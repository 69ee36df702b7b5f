// Which measure, and where on the page: both are in the address, so that a link opens the same view.
"use strict";
(() => {
  const { address, hash } = window.fathoms;
  const links = [...document.querySelectorAll("nav .links a")];

  const choose = (measure) => {
    window.fathoms.measure = measure;
    document.querySelectorAll(".of-measure").forEach((part) => {
      part.hidden = Number(part.dataset.measure) !== measure;
    });
    document.querySelectorAll(".measures button").forEach((button) => {
      button.setAttribute("aria-pressed", String(Number(button.dataset.measure) === measure));
    });
    document.dispatchEvent(new CustomEvent("measure", { detail: measure }));
  };
  document.querySelectorAll(".measures button").forEach((button) => {
    button.addEventListener("click", () => {
      // What is looked at stays where it is, though what is above it becomes longer or shorter.
      const seen = [...document.querySelectorAll("main > section")].find((one) => one.getBoundingClientRect().bottom > 120);
      const before = seen.getBoundingClientRect().top, measure = Number(button.dataset.measure);
      history.replaceState(null, "", hash(address().place, measure));
      choose(measure);
      scrollBy({ top: seen.getBoundingClientRect().top - before, behavior: "instant" });
    });
  });

  const arrive = () => {
    const { place, measure } = address();
    if (measure !== window.fathoms.measure) choose(measure);
    const target = document.getElementById(place);
    target?.querySelectorAll(":scope > details.closed").forEach((part) => { part.open = true; });
    target?.scrollIntoView({ behavior: "instant" });
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='#']");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const target = hash(link.getAttribute("href").slice(1), window.fathoms.measure);
    if (location.hash === target) dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = target;
  });
  addEventListener("hashchange", arrive);

  // -- the section that is looked at

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      for (const link of links) {
        const here = link.getAttribute("href") === `#${entry.target.id}`;
        if (here) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
        const bar = link.parentNode;
        if (here) bar.scrollTo({ left: link.offsetLeft - bar.offsetLeft - bar.clientWidth / 2 + link.offsetWidth / 2 });
      }
    }
  }, { rootMargin: "-25% 0px -70% 0px" });
  document.querySelectorAll("main > section").forEach((section) => seen.observe(section));

  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
  choose(window.fathoms.measure);
  arrive();
})();
