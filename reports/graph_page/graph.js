// A path is shown in the picture: its states get a ring.
const shown = [...document.querySelectorAll("button[data-path]")];
for (const button of shown) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const states = button.getAttribute("aria-pressed") === "true" ? [] : button.dataset.path.split(" ");
    for (const each of shown) each.setAttribute("aria-pressed", String(each === button && states.length > 0));
    for (const link of document.querySelectorAll("a[data-state]")) {
      link.classList.toggle("on", states.includes(link.dataset.state));
    }
    if (states.length) document.getElementById("graph").scrollIntoView();
  });
}
