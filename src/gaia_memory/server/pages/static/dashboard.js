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

// While the page is seen, it follows the events: a browser keeps few connections to a server, for all its tabs.
const events = document.body.dataset.events;
let lastId = "";
let following = new AbortController();

async function follow({ signal }) {
  const headers = lastId ? { "Last-Event-ID": lastId } : {};
  const response = await fetch(events, { headers, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); response.ok && !part.done; part = await reader.read()) {
    const blocks = (text + part.value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      lastId = block.match(/^id: (.*)$/m)?.[1] ?? lastId;
      if (/^event: (added|replaced|forgotten)$/m.test(block)) document.getElementById("changed").hidden = false;
    }
  }
}

function followWhileSeen() {
  following.abort();
  if (document.visibilityState !== "visible") return;
  following = new AbortController();
  const { signal } = following;
  follow(following).catch(() => {}).then(() => {
    if (!signal.aborted) setTimeout(() => signal.aborted || followWhileSeen(), 5000);
  });
}

if (events) {
  document.addEventListener("visibilitychange", followWhileSeen);
  addEventListener("pagehide", () => following.abort());
  followWhileSeen();
}
