// The ledger shows the entries that hold every word of the filter.
const line = document.querySelector(".filter");
const field = line.querySelector("input");
const status = line.querySelector("[role=status]");
const groups = [...document.querySelectorAll(".ledger")];
const entries = [...document.querySelectorAll(".claims > div")].map((row) => [row, row.textContent.toLowerCase()]);

field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/);
  for (const [row, text] of entries) row.hidden = !words.every((word) => text.includes(word));
  for (const group of groups) group.hidden = !group.querySelector(".claims > div:not([hidden])");
  const shown = entries.filter(([row]) => !row.hidden).length;
  status.textContent = field.value.trim() ? status.dataset.some.replace("{count}", shown) : "";
});
line.classList.add("ready");
