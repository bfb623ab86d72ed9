// Lessons as a Streamlit component: one instance for each place on the page, however often it reruns.

import { bytesOf } from "./lesson_parts.js";
import { openLesson } from "./lesson.js";

const lessonInstances = new WeakMap();

/** Streamlit calls this when the component appears, when its data change and when the theme changes. */
export default function mountLesson({ parentElement, data }) {
  const instance = lessonInstances.get(parentElement) ?? openInstance(parentElement);
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
  };
  const instance = {
    // One after the other: a rerun may come while the bytes of the last one are still being unpacked.
    show: (data) => { work = work.then(() => show(data)).catch((error) => console.error(error)); },
    close: () => { work.then(() => page?.destroy()); },
  };
  lessonInstances.set(host, instance);
  return instance;
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
