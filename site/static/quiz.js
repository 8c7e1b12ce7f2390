// Quizzes: answers kept in this browser, a result by lesson, a shuffled order that its seed in the URL brings back.
// Choosing and explaining is plain HTML and CSS: all of that works without this file.
const KEY = "quiz";
const answers = read();

function read() {
  try { return JSON.parse(localStorage[KEY] ?? "{}"); } catch { return {}; }
}
function write() {
  try { localStorage[KEY] = JSON.stringify(answers); } catch { /* private mode: kept until the page closes */ }
}

const questions = [...document.querySelectorAll(".question")];
for (const question of questions) {
  const chosen = question.querySelector(`input[value="${answers[question.dataset.id]}"]`);
  if (chosen) chosen.checked = true;
  question.addEventListener("change", ({ target }) => {
    answers[question.dataset.id] = target.value;
    write();
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

const result = document.getElementById("result");
if (result) {
  document.getElementById("shuffle").addEventListener("click", () => {
    location.search = `?seed=${crypto.getRandomValues(new Uint16Array(1))[0]}`;
  });
  document.getElementById("forget").addEventListener("click", () => {
    for (const id of Object.keys(answers)) delete answers[id];
    write();
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
    question.dataset.lesson = question.closest(".quiz").dataset.lesson;
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
  if (!result) return;
  const lessonOf = (question) => question.dataset.lesson ?? question.closest(".quiz").dataset.lesson;
  const isAnswered = (question) => question.querySelector("input:checked") !== null;
  const isRight = (question) => question.querySelector(".best input:checked") !== null;
  for (const row of result.querySelectorAll("tr[data-lesson]")) {
    const own = questions.filter((question) => lessonOf(question) === row.dataset.lesson);
    const right = own.filter(isRight).length;
    const wrong = own.some((question) => isAnswered(question) && !isRight(question));
    row.querySelector(".right").textContent = `${right} / ${own.length}`;
    row.querySelector(".advice").textContent =
      wrong ? row.dataset.reread : right === own.length ? row.dataset.fine : row.dataset.open;
  }
  const answered = questions.filter(isAnswered).length;
  const line = document.getElementById("score");
  line.dataset.none ??= line.textContent;
  line.textContent = answered === 0 ? line.dataset.none : line.dataset.score
    .replace("{right}", questions.filter(isRight).length)
    .replace("{answered}", answered)
    .replace("{total}", questions.length);
}
