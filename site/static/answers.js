// The reader's answers, question id -> option. They are kept in this browser and nowhere else.
const KEY = "kvtiers.quiz";
export const answers = read();

function read() {
  try {
    const kept = JSON.parse(localStorage[KEY] ?? "{}");
    return kept?.constructor === Object ? kept : {};
  } catch {
    return {};
  }
}

export function keep() {
  try { localStorage[KEY] = JSON.stringify(answers); } catch { /* private mode: kept until the page closes */ }
}

export function fill(line, { right, answered, total }) {
  line.dataset.none ??= line.textContent;
  line.textContent = answered === 0 ? line.dataset.none : line.dataset.score
    .replace("{right}", right)
    .replace("{answered}", answered)
    .replace("{total}", total);
}
