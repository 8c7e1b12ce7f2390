// Quizzes: answers kept in this browser, and a shuffled order that its seed in the URL brings back.
// Choosing and explaining is plain HTML and CSS: all of that works without this file.
import { answers, fill, keep } from "./answers.js";

const questions = [...document.querySelectorAll(".question")];
for (const question of questions) {
  const chosen = question.querySelector(`input[value="${answers[question.dataset.id]}"]`);
  if (chosen) chosen.checked = true;
  question.addEventListener("change", ({ target }) => {
    answers[question.dataset.id] = target.value;
    keep();
    say(target.closest(".option").querySelector(".why").textContent);
    score();
  });
}

// One hidden live region: a screen reader reads the explanation that a choice brings up.
const voice = document.createElement("p");
voice.className = "skip";
voice.setAttribute("role", "status");
document.body.append(voice);
function say(text) {
  voice.textContent = text;
}

const scoreLine = document.getElementById("score");
if (scoreLine) {
  document.getElementById("shuffle").addEventListener("click", () => {
    location.search = `?seed=${crypto.getRandomValues(new Uint16Array(1))[0]}`;
  });
  document.getElementById("forget").addEventListener("click", () => {
    for (const id of Object.keys(answers)) delete answers[id];
    keep();
    for (const input of document.querySelectorAll(".question input:checked")) input.checked = false;
    score();
  });
  const seed = new URLSearchParams(location.search).get("seed");
  if (seed !== null) shuffle(Number.parseInt(seed, 10) || 0);
  score();
}

function shuffle(seed) {
  const random = mulberry32(seed);
  const mixed = (items) => items.map((item) => [random(), item]).sort(([a], [b]) => a - b).map(([, item]) => item);
  const sections = [...document.querySelectorAll("#questions > .quiz")];
  const all = document.createElement("section");
  all.className = "quiz";
  for (const question of mixed(questions)) {
    question.append(...mixed([...question.querySelectorAll(".option")]));
    all.append(question);
  }
  sections.forEach((section) => section.remove());
  document.getElementById("questions").append(all);
  document.getElementById("in-order").hidden = false;
}

// A small seeded generator: 32 bits of state are plenty to order thirty questions.
function mulberry32(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function score() {
  if (!scoreLine) return;
  const among = (selector) => questions.filter((question) => question.querySelector(selector)).length;
  fill(scoreLine, { right: among(".best input:checked"), answered: among("input:checked"), total: questions.length });
}
