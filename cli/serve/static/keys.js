// Keys of grids of photos, and progress without a new page; the forms work without.
"use strict";
addEventListener("keydown", (event) => {
  const grid = document.querySelector("[data-grid]");
  if (!grid || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("select, summary, textarea, input:not([type=checkbox])")) return;
  const boxes = [...grid.querySelectorAll("input[name=photos]:not([disabled])")];
  const columns = getComputedStyle(grid).gridTemplateColumns.split(" ").length;
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
  const button = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]:not([disabled])`);
  if (step && boxes.length) {
    const at = boxes.indexOf(document.activeElement);
    boxes[at < 0 ? 0 : Math.max(0, Math.min(at + step, boxes.length - 1))].focus();
    event.preventDefault();
  } else if (button) {
    button.click();
    event.preventDefault();
  }
});
for (const shown of document.querySelectorAll("[data-progress]")) {
  const follow = async () => {
    const state = await (await fetch(shown.dataset.progress)).json();
    if (!state.is_running) { location.reload(); return; }
    if (state.said) shown.querySelector("[data-count]").textContent = state.said;
    for (const bar of shown.querySelectorAll("[data-bar]")) {
      bar.max = state.total || 1;
      bar.value = state.done;
    }
    setTimeout(follow, 1000);
  };
  follow().catch(() => {});
}
