// The keyboard of the review, and its answers without a new page; the form works without.
"use strict";
const main = document.querySelector("[data-review]");
if (main) {
  const form = document.getElementById("say"), fault = form.querySelector("[data-error]");
  const name = form.querySelector("input[name=name]"), names = document.getElementById("names");
  let at = 0;
  const waiting = [];
  const grid = () => document.getElementById("grid");
  const birds = () => [...grid().querySelectorAll("[data-bird]")];
  const boxes = () => [...grid().querySelectorAll("input[type=checkbox]")];
  const chosen = () => birds().filter((bird) => bird.querySelector("input").checked);
  const mark = (place, focus = true) => {
    const all = birds();
    if (!all.length) return;
    at = Math.max(0, Math.min(place, all.length - 1));
    all.forEach((bird, i) => bird.classList.toggle("at", i === at));
    if (focus) {
      all[at].querySelector("input").focus({ preventScroll: true });
      all[at].scrollIntoView({ block: "nearest" });
    }
  };
  const renew = async (said) => {
    const answer = await fetch(location.href);
    const kept = chosen().map((bird) => bird.dataset.bird).filter((key) => !said.includes(key)); // chosen meanwhile
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of ["#grid", ".tabs", "progress", ".toolbar > .small:last-child", "#after"]) {
      const [before, after] = [main.querySelector(part), page.querySelector(part)];
      if (before && after) before.replaceWith(after);
    }
    const [before, after] = [main.querySelector(".cohorts"), page.querySelector(".cohorts")];
    if (before) { if (after) { after.open = before.open; before.replaceWith(after); } else before.remove(); }
    birds().forEach((bird) => { bird.querySelector("input").checked = kept.includes(bird.dataset.bird); });
    mark(at, document.activeElement !== name);
  };
  // Orders are carried out in turn; those behind one that failed were meant for other birds.
  const say = async (what, label = "") => {
    waiting.push([what, label]);
    if (waiting.length > 1) return;
    while (waiting.length) {
      if (await isDone(...waiting[0])) waiting.shift(); else waiting.length = 0;
    }
  };
  const isDone = async (what, label) => {
    const body = new FormData(), keys = what === "undo" ? [] : numbers();
    body.set("say", what);
    body.set("name", label);
    keys.forEach((key) => body.append("birds", key));
    try {
      const answer = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
      const text = answer.ok ? (await answer.json()).name || "" : await said(answer);
      fault.hidden = !text;
      fault.textContent = answer.ok && text ? `${text}: ${keys.length}` : text;
      await renew(keys);
      return answer.ok;
    } catch {
      fault.hidden = false;
      fault.textContent = "The server does not answer: it may have been stopped.";
      return false;
    }
  };
  const said = async (answer) => {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return [...page.querySelectorAll("main p")].slice(0, -1).map((part) => part.textContent).join(" ");
  };
  const numbers = () => {
    const picked = chosen().length ? chosen() : birds().slice(at, at + 1);
    return picked.map((bird) => bird.dataset.bird);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const what = event.submitter ? event.submitter.value : "name";
    say(what, name.value);
    name.value = "";
  });
  main.addEventListener("change", (event) => {
    const bird = event.target.closest("[data-bird]");
    if (bird) mark(birds().indexOf(bird), false);
  });
  let asked = 0;
  name.addEventListener("input", async () => {
    const mine = ++asked;
    const found = await (await fetch(`/names?q=${encodeURIComponent(name.value)}`)).json();
    if (mine !== asked) return;
    names.replaceChildren(...found.map((each) => {
      const option = document.createElement("option");
      option.value = each.name;
      option.label = `${each.name} (${each.scientific})`;
      return option;
    }));
  });
  name.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); say("name", name.value); name.value = ""; name.blur(); }
    if (event.key === "Escape") { name.blur(); mark(at); }
  });
  const columns = () => getComputedStyle(grid()).gridTemplateColumns.split(" ").length;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, summary, input:not([type=checkbox])")) return;
    if (event.key === "Enter" && event.target.matches("a, button")) return;
    if (event.repeat && !event.key.startsWith("Arrow")) return;
    const keys = {
      Enter: () => say("confirm"),
      r: () => name.focus(),
      u: () => say("unknown"),
      x: () => say("no bird"),
      m: () => say("majority"),
      z: () => say("undo"),
      a: () => { const all = boxes(), is = all.every((box) => box.checked); all.forEach((box) => { box.checked = !is; }); },
      e: () => {
        const bird = birds()[at];
        birds().filter((each) => bird && each.dataset.event === bird.dataset.event)
          .forEach((each) => { each.querySelector("input").checked = true; });
      },
      ArrowRight: () => mark(at + 1), ArrowLeft: () => mark(at - 1),
      ArrowDown: () => mark(at + columns()), ArrowUp: () => mark(at - columns()),
    };
    const recent = [...form.querySelectorAll("[data-recent]")][Number(event.key) - 1];
    const act = recent ? () => say("name", recent.dataset.recent) : keys[event.key] || keys[event.key.toLowerCase()];
    if (act) { event.preventDefault(); act(); }
  });
  mark(0, false);
}
