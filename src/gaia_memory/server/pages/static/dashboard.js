// Search as you type, and a note when memory changes elsewhere. Every page works without this file.
"use strict";

const results = document.getElementById("results");
const announcer = document.getElementById("announcer");
let latest = 0;

async function showResults(form) {
  const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
  const turn = ++latest;
  const response = await fetch(address, { headers: { Accept: "text/html" } });
  if (!response.ok || turn !== latest) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const found = page.getElementById("results");
  if (!found) return;
  results.replaceChildren(...found.childNodes);
  history.replaceState(null, "", address);
  announcer.textContent = results.querySelector("[data-summary]")?.textContent ?? "";
}

for (const form of document.querySelectorAll("form[data-live]")) {
  let timer;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => showResults(form), 200);
  };
  form.addEventListener("input", later);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    showResults(form);
  });
}

const events = document.body.dataset.events;
if (events) {
  const source = new EventSource(events);
  const note = () => document.getElementById("changed").hidden = false;
  for (const kind of ["added", "replaced", "forgotten"]) source.addEventListener(kind, note);
  addEventListener("pagehide", () => source.close());
}
