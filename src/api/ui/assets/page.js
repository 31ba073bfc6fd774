// All that the page does with JavaScript: the key for the search, buttons that copy, numbers that renew themselves.
// Without it the page is whole.
"use strict";

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const search = document.getElementById("search");
  search.focus();
  search.select();
});

for (const command of document.querySelectorAll(".command")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy the " + command.querySelector("h2").textContent + " command");
  button.addEventListener("click", async () => {
    const pre = command.querySelector("pre");
    try {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = "Copied";
    } catch {
      // Without a clipboard, as over plain HTTP, the text is marked to be copied by hand.
      getSelection().selectAllChildren(pre);
      button.textContent = "Marked";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  command.append(button);
}

const live = document.getElementById("live");
if (live && window.EventSource) {
  // The server renders and escapes what comes here; a link that has the focus is not taken away.
  const events = new EventSource(live.dataset.live);
  events.onmessage = (event) => {
    if (!live.contains(document.activeElement)) live.innerHTML = event.data;
  };
  addEventListener("pagehide", () => events.close());
}
