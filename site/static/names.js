// marimo leaves some of its elements without what a screen reader or a keyboard needs; here they get it. They come and
// go as cells run, and most lie in a shadow tree, so every tree is watched.
export function nameWidgets(page, { code }) {
  const seen = new WeakSet();
  const name = () => {
    for (const widget of page.querySelectorAll("marimo-code-editor, marimo-file")) {
      watch(widget.shadowRoot);
      const label = new DOMParser().parseFromString(JSON.parse(widget.dataset.label ?? "null") ?? code, "text/html");
      for (const field of widget.shadowRoot?.querySelectorAll(".cm-content, input[type=file]") ?? []) {
        field.ariaLabel ??= label.body.textContent.trim();
      }
    }
    for (const block of page.querySelectorAll(".codehilite pre")) block.tabIndex = 0;
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
