// Search over both languages. Loaded, with its index, when the reader first opens it.
import MiniSearch from "./minisearch.js";

const RESULTS = { own: 20, other: 6 };
const AROUND = 70; // characters shown before and after what was found
const FIELDS = ["language", "address", "page", "title", "text"];

const language = document.documentElement.lang;
const dialog = document.getElementById("search");
const field = document.getElementById("words");
const list = document.getElementById("found");
const count = document.getElementById("found-count");

// Chinese has no spaces, and a segmenter cuts the same characters differently from sentence to sentence. Pairs of
// neighbouring characters find every word of two or more; the last one alone lets a single character be found.
const PIECES = /\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{M}\p{N}])+/gu;
const pieces = (text) => text.match(PIECES) ?? [];
const pairs = (run) => Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2));
const isHan = (text) => /^\p{Script=Han}/u.test(text);
const toIndex = (text) => pieces(text).flatMap((piece) => (isHan(piece) ? [...pairs(piece), piece.at(-1)] : piece));
const toFind = (text) => pieces(text).flatMap((piece) => (isHan(piece) && piece.length > 1 ? pairs(piece) : piece));

const isQuestion = ({ address }) => address.includes("/quiz/#");

const index = load();

async function load() {
  const response = await fetch(new URL("search.json", import.meta.url));
  if (!response.ok) throw new Error(`search.json: HTTP ${response.status}`);
  const sections = (await response.json()).map((section, id) =>
    Object.fromEntries([["id", id], ...FIELDS.map((name, at) => [name, section[at]])]));
  const made = new MiniSearch({
    fields: ["title", "page", "text"],
    storeFields: FIELDS,
    tokenize: toIndex,
    searchOptions: {
      tokenize: toFind,
      combineWith: "AND",
      prefix: (term) => term.length > 1 || isHan(term),
      fuzzy: (term) => (term.length > 4 && !isHan(term) ? 0.2 : false),
      boost: { title: 3, page: 1.5 },
    },
  });
  made.addAll(sections);
  return made;
}

async function find() {
  const words = field.value.trim();
  let results;
  try {
    const made = await index;
    results = made.search(words);
    if (results.length === 0) results = made.search(words, { combineWith: "OR" }); // better some words than none
  } catch {
    count.textContent = count.dataset.failed;
    return;
  }
  if (words !== field.value.trim()) return;
  const ranked = results.toSorted((a, b) => isQuestion(a) - isQuestion(b)); // what explains comes before what asks
  const own = ranked.filter((result) => result.language === language).slice(0, RESULTS.own);
  const other = ranked.filter((result) => result.language !== language).slice(0, RESULTS.other);
  list.replaceChildren(...[...own, ...other].map((result) => item(result, pieces(words))));
  const { some, none } = count.dataset;
  const shown = own.length + other.length;
  count.textContent = words === "" ? "" : shown === 0 ? none : some.replace("{count}", shown);
}

function item({ language: spoken, address, page, title, text, terms }, words) {
  const link = make("a", { href: list.dataset.root + address });
  const head = make("strong");
  head.append(...marked(title, words));
  link.append(head);
  if (spoken !== language) link.append(make("span", { className: "tongue", textContent: list.dataset.other, lang: language }));
  if (page !== title) link.append(make("small", { textContent: page }));
  const near = make("span", { className: "near" });
  near.append(...marked(excerpt(text, words, terms), words));
  link.append(near);
  const entry = make("li", { lang: spoken });
  entry.append(link);
  return entry;
}

const make = (tag, properties = {}) => Object.assign(document.createElement(tag), properties);
const anyOf = (words) => new RegExp(`(${words.map((word) => RegExp.escape?.(word) ?? word).join("|")})`, "giu");

function excerpt(text, words, terms) {
  const at = [text.search(anyOf(words)), text.search(anyOf(terms))].find((place) => place >= 0) ?? 0;
  const from = Math.max(0, at - AROUND);
  const to = at + 2 * AROUND;
  return `${from > 0 ? "…" : ""}${text.slice(from, to).trim()}${to < text.length ? "…" : ""}`;
}

// Text with what was searched for marked; never parsed as HTML.
const marked = (text, words) =>
  text.split(anyOf(words)).map((part, at) => (at % 2 ? make("mark", { textContent: part }) : part));

export function open() {
  if (!dialog.open) dialog.showModal();
  field.select();
}

field.addEventListener("input", find);
list.addEventListener("click", () => dialog.close()); // a result on this very page only scrolls
dialog.addEventListener("keydown", (event) => {
  if (event.isComposing || event.keyCode === 229) return; // an input method's key; Safari's Enter tells by 229 only
  const links = [...list.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "Escape") dialog.close(); // at once: the field alone would only be emptied
  if (event.key === "Enter" && document.activeElement === field) links[0]?.click();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || links.length === 0) return;
  event.preventDefault();
  (links[at + step] ?? (step > 0 ? links.at(-1) : field)).focus();
});
