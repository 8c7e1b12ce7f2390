// The result page: which lesson to reread, from the answers kept in this browser.
import { answers, fill } from "./answers.js";

const reread = [];
const rows = [...document.querySelectorAll("tr[data-lesson]")];
const count = { right: 0, answered: 0, total: 0 };
for (const row of rows) {
  const questions = [...row.querySelectorAll("[data-best]")];
  const isAnswered = ({ dataset }) => dataset.id in answers;
  const isRight = ({ dataset }) => answers[dataset.id] === dataset.best;
  const right = questions.filter(isRight).length;
  const wrong = questions.some((question) => isAnswered(question) && !isRight(question));
  for (const question of questions) {
    const state = !isAnswered(question) ? "open" : isRight(question) ? "right" : "wrong";
    question.dataset.state = state;
    question.querySelector(".mark").textContent = { open: "–", right: "✓", wrong: "✗" }[state];
  }
  row.querySelector("td.right").textContent = `${right} / ${questions.length}`;
  row.querySelector(".advice").textContent =
    wrong ? row.dataset.reread : right === questions.length ? row.dataset.fine : row.dataset.open;
  if (wrong) reread.push(row.querySelector("th").textContent);
  count.right += right;
  count.answered += questions.filter(isAnswered).length;
  count.total += questions.length;
}
fill(document.getElementById("score"), count);

const line = document.getElementById("reread");
line.hidden = reread.length === 0;
const separator = document.documentElement.lang === "en" ? ", " : "、";
line.textContent = line.dataset.reread.replace("{lessons}", reread.join(separator));

document.getElementById("print").addEventListener("click", () => print());
