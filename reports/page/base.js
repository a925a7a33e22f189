"use strict";
// The page can be read without this script: it only adds what needs a hand: colours, copies and the like.

const root = document.documentElement;
const themes = document.querySelector(".themes");
themes.hidden = false;
themes.addEventListener("click", (event) => {
  const chosen = event.target.closest("button");
  if (!chosen) return;
  root.dataset.theme = chosen.dataset.theme;
  for (const button of themes.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button === chosen));
  }
});

for (const button of document.querySelectorAll("button[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  const say = (text) => {
    button.textContent = text;
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const select = () => {
      getSelection().selectAllChildren(source);
      say("Selected: press Ctrl+C");
    };
    // A page from a file may not be allowed to write to the clipboard.
    if (navigator.clipboard) navigator.clipboard.writeText(source.textContent).then(() => say("Copied"), select);
    else select();
  });
}

addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
