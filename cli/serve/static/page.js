// Photos by drop and paste, and a word on what happens; the form works without.
"use strict";
for (const form of document.querySelectorAll("form[data-photos]")) {
  const field = form.querySelector("input[type=file]");
  const zone = form.querySelector(".drop"), chosen = form.querySelector("[data-chosen]");
  const show = () => {
    const n = field.files.length;
    chosen.textContent = n === 0 ? "" : n === 1 ? field.files[0].name : `${n} photos`;
  };
  const take = (files) => {
    const pictures = [...files].filter((file) => file.size > 0);
    if (!pictures.length) return;
    const held = new DataTransfer();
    pictures.forEach((file) => held.items.add(file));
    field.files = held.files;
    show();
  };
  field.addEventListener("change", show);
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", kind === "dragover");
      if (kind === "drop") take(event.dataTransfer.files);
    });
  }
  document.addEventListener("paste", (event) => take(event.clipboardData.files));
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    button.disabled = true;
    button.textContent = "Identifying...";
  });
  addEventListener("pageshow", () => {
    const button = form.querySelector("button");
    button.disabled = false;
    button.textContent = "Identify";
  });
}
for (const form of document.querySelectorAll("form[data-part]")) {
  const zone = form.querySelector(".drawn"), box = zone.querySelector("i"), field = (name) => form.elements[name];
  let from = null;
  const place = (event) => {
    const { left, top, width, height } = zone.getBoundingClientRect();
    const percent = (value) => Math.round(Math.min(Math.max(value * 100, 0), 100) * 10) / 10;
    return [percent((event.clientX - left) / width), percent((event.clientY - top) / height)];
  };
  const show = () => {
    const [left, top, right, bottom] = ["left", "top", "right", "bottom"].map((name) => Number(field(name).value));
    Object.assign(box.style, { left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%` });
    box.hidden = false;
  };
  zone.addEventListener("pointerdown", (event) => { from = place(event); zone.setPointerCapture(event.pointerId); });
  zone.addEventListener("pointermove", (event) => {
    if (!from) return;
    const to = place(event);
    for (const [names, at] of [[["left", "right"], 0], [["top", "bottom"], 1]]) {
      field(names[0]).value = Math.min(from[at], to[at]);
      field(names[1]).value = Math.max(from[at], to[at]);
    }
    show();
  });
  zone.addEventListener("pointerup", () => { from = null; });
  form.addEventListener("input", show);
}
