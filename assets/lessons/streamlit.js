// Lessons as a Streamlit component: one instance for each place on the page, however often it reruns.

import { bytesOf } from "./lesson_parts.js";
import { openLesson } from "./lesson.js";

const lessonInstances = new WeakMap();
/** Which page was shown last, in whatever instance. */
let lastShown = null;

/** Streamlit calls this when the component appears, when its data change and when the theme changes. */
export default function mountLesson({ parentElement, data, setTriggerValue }) {
  const instance = lessonInstances.get(parentElement) ?? openInstance(parentElement);
  instance.go = setTriggerValue;
  instance.show(data);
  return () => {
    lessonInstances.delete(parentElement);
    instance.close();
  };
}

function openInstance(host) {
  let page = null;
  let shown = null;
  let work = Promise.resolve();
  const show = async (data) => {
    const bytes = typeof data === "string" ? bytesOf(data) : data;
    if (page && areSame(shown, bytes)) return page.layout();
    shown = bytes;
    const doc = await documentFrom(bytes);
    page?.destroy();
    page = openLesson(host, doc, { vegaEmbed, link: appLink(doc), parameters: new URLSearchParams(window.location.search) });
    beginAbove(page.root, `${doc.kind} ${doc.id} ${doc.language}`);
  };
  const follow = (event) => followLink(event, instance.go);
  host.addEventListener("click", follow);
  const instance = {
    go: null,
    // One after the other: a rerun may come while the bytes of the last one are still being unpacked.
    show: (data) => { work = work.then(() => show(data)).catch((error) => console.error(error)); },
    close: () => {
      host.removeEventListener("click", follow);
      work.then(() => page?.destroy());
    },
  };
  lessonInstances.set(host, instance);
  return instance;
}

/** Lead to another lesson without loading the page anew; with a key held down a link is the browser's own affair. */
function followLink(event, go) {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const { origin, pathname, hash, searchParams } = new URL(anchor.href);
  if (origin !== window.location.origin || pathname !== window.location.pathname || hash) return;
  event.preventDefault();
  go("go", Object.fromEntries(searchParams));
}

/** Another page than the last one is read from its title on, wherever the last one was left. */
function beginAbove(root, name) {
  const title = root.querySelector("h1");
  if (lastShown !== null && lastShown !== name && title) {
    root.scrollIntoView({ block: "start" });
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
  }
  lastShown = name;
}

/** Where pages of the app stand: `doc.links` has them by kind; lessons are the index with parameters. */
function appLink(doc) {
  return (kind, id, language) => {
    if (kind !== "lesson" && kind !== "index") return doc.links[kind] ?? null;
    const parameters = new URLSearchParams({ ...(kind === "lesson" && { lesson: id }), ...(language !== "en" && { language }) });
    return parameters.size ? `${doc.links.index}?${parameters}` : doc.links.index;
  };
}

async function documentFrom(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function areSame(a, b) {
  return a.length === b.length && a.every((byte, k) => byte === b[k]);
}
