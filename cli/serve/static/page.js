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
