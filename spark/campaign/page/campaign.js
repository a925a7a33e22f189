
const filter = document.getElementById("filter");
const counted = document.querySelector(".filter output");
const rows = [...document.querySelectorAll("table[data-filter] tbody tr")];
const texts = rows.map((row) => row.textContent.toLowerCase());
document.querySelector(".filter").hidden = false;
filter.addEventListener("input", () => {
  const wanted = filter.value.trim().toLowerCase();
  let shown = 0;
  rows.forEach((row, index) => {
    row.hidden = !texts[index].includes(wanted);
    shown += row.hidden ? 0 : 1;
  });
  counted.textContent = wanted ? `${shown} of ${rows.length} rows` : "";
});
