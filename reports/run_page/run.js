
const player = document.querySelector(".player");
const slider = player.querySelector("input");
const said = player.querySelector("output");
const at = document.querySelector("#state .at");
const steps = [...document.querySelectorAll(".step")];
const drawn = new Map([...document.querySelectorAll("[data-step]")].map((each) => [Number(each.dataset.step), each]));
const cells = new Map([...document.querySelectorAll(".state [data-cell]")].map((each) => [each.dataset.cell, each]));
const changes = steps.map((step) => [...step.querySelectorAll(".changes > li")].map((each) => ({
  cell: cells.get(each.dataset.cell), old: each.querySelector("del").textContent, now: each.querySelector("ins").textContent,
})));
const needs = steps.map((step) => [...step.querySelectorAll("[data-needs]")].map((each) => cells.get(each.dataset.needs)));
// The links in a step lead to the steps that wrote what it needed, and to those that need what it wrote.
const tied = steps.map((step) => [...step.querySelectorAll(".changes a, .cells a")].map((each) => drawn.get(Number(each.hash.slice(6)))));
const onwards = document.getElementById("onwards");
const replay = document.getElementById("replay")?.textContent;
let now = 0;

const mark = (chosen) => {
  steps[now].classList.toggle("now", chosen);
  steps[now].parentElement.classList.toggle("now", chosen);
  drawn.get(now)?.classList.toggle("now", chosen);
  for (const change of changes[now]) change.cell?.classList.toggle("changed", chosen);
  for (const cell of needs[now]) cell?.classList.toggle("needed", chosen);
  for (const step of tied[now]) step?.classList.toggle("tied", chosen);
};

const command = () => {
  // A run may have thousands of steps, and its command is as long.
  if (onwards?.open) document.getElementById("explore").textContent = `${replay.replace("replay", "explore")} --at ${now}`;
};
onwards?.addEventListener("toggle", command);

// Values change from step to step, forwards and backwards, so that no state has to be kept.
const go = (wanted, { moves = true } = {}) => {
  const next = Math.max(0, Math.min(steps.length - 1, wanted));
  mark(false);
  while (now < next) for (const change of changes[++now]) if (change.cell) change.cell.textContent = change.now;
  while (now > next) for (const change of changes[now--].toReversed()) if (change.cell) change.cell.textContent = change.old;
  mark(true);
  command();
  slider.value = now;
  said.textContent = `Step ${now} of ${steps.length - 1}: ${steps[now].querySelector("h3").textContent.replace(/^\d+ /, "")}`;
  at.textContent = now ? `after step ${now}` : "at the start";
  if (moves) {
    history.replaceState(null, "", `#step-${now}`);
    drawn.get(now)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
};

const asked = () => {
  const found = /^#step-(\d+)$/.exec(location.hash);
  return found ? Number(found[1]) : null;
};
const loop = player.dataset.loop;
// Behind the last step of a loop comes its first one: both states before it are the same.
const ways = { first: () => 0, back: () => now - 1, on: () => (loop && now === steps.length - 1 ? Number(loop) : now) + 1, last: () => steps.length - 1 };
const keys = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last" };
player.addEventListener("click", (event) => {
  const way = event.target.closest("button")?.dataset.go;
  if (way === "all") {
    const all = document.body.classList.toggle("all");
    event.target.setAttribute("aria-pressed", String(all));
  } else if (way) go(ways[way]());
});
slider.addEventListener("input", () => go(Number(slider.value)));
addEventListener("hashchange", () => { if (asked() !== null) go(asked()); });
addEventListener("keydown", (event) => {
  const way = keys[event.key];
  if (!way || event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input, pre, .scroll")) return;
  event.preventDefault();
  go(ways[way]());
});
for (const [number, each] of drawn) each.addEventListener("click", () => go(number));

document.body.classList.add("playing");
for (const each of [player, onwards, ...document.querySelectorAll(".played")]) if (each) each.hidden = false;
go(asked() ?? 0, { moves: asked() !== null });
