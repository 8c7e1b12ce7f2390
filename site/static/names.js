// marimo leaves some of its elements without what a screen reader or a keyboard needs, and speaks English; here they
// get names, and the page's language. They come and go as cells run, and most lie in a shadow tree, so every tree is
// watched. A lesson's folder in a text becomes a link.
const WITH_TREE = "marimo-code-editor, marimo-file, marimo-callout-output, marimo-number";
const SLUG = /\b\d\d(-[a-z]+)+\b/;
const lessons = new Map([...document.querySelectorAll(".steps a")].map((step) => [step.pathname.split("/").at(-2), step]));

export function nameWidgets(page, { code, words }) {
  const own = Object.entries(JSON.parse(words));
  const plain = (text) => (text.includes("<") ? new DOMParser().parseFromString(text, "text/html").body.textContent : text);
  const inWords = (text) => {
    const [theirs, ours] = own.find(([theirs]) => text.trimStart().startsWith(theirs)) ?? ["", ""];
    return text.replace(theirs, ours);
  };
  const translate = (tree) => {
    for (const element of tree.querySelectorAll("[aria-label], [title]")) {
      for (const name of ["aria-label", "title"]) {
        const said = element.getAttribute(name);
        if (said && inWords(plain(said)) !== said) element.setAttribute(name, inWords(plain(said)));
      }
    }
  };
  const seen = new WeakSet();
  const links = new Map();
  const name = () => {
    translate(page);
    for (const widget of page.querySelectorAll(WITH_TREE)) {
      if (!widget.shadowRoot) continue;
      watch(widget.shadowRoot);
      translate(widget.shadowRoot);
      if (widget.matches("marimo-file")) eachText(widget.shadowRoot, (text) => { if (inWords(text.data) !== text.data) text.data = inWords(text.data); });
      for (const field of widget.shadowRoot.querySelectorAll(".cm-content, input[type=file]")) {
        field.ariaLabel ??= plain(JSON.parse(widget.dataset.label ?? "null") ?? code).trim();
      }
    }
    for (const [link, { text, said, rest }] of links) {
      if (text.isConnected && text.data === said) continue; // marimo has written something else there
      for (const node of [link, rest]) node.remove();
      links.delete(link);
    }
    for (const { shadowRoot } of page.querySelectorAll("marimo-callout-output")) if (shadowRoot) eachText(shadowRoot, linkLesson);
    for (const scrolls of page.querySelectorAll(".codehilite pre, table")) scrolls.tabIndex = 0;
  };
  const eachText = (tree, act) => {
    const walker = page.createTreeWalker(tree, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) act(text);
  };
  const linkLesson = (text) => {
    const [slug] = SLUG.exec(text.data) ?? [];
    const lesson = lessons.get(slug);
    if (!lesson) return;
    const rest = text.splitText(text.data.indexOf(slug));
    rest.data = rest.data.slice(slug.length);
    const link = Object.assign(page.createElement("a"), { href: lesson.href, target: "_top" });
    link.textContent = `${lesson.textContent} · ${lesson.title}`;
    rest.before(link);
    links.set(link, { text, said: text.data, rest });
  };
  const observer = new MutationObserver(name);
  const watch = (tree) => {
    if (!tree || seen.has(tree)) return;
    seen.add(tree);
    observer.observe(tree, { childList: true, subtree: true });
  };
  watch(page.body);
  name();
}
