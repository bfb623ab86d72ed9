// The player as a Streamlit component: one instance for each place on the page, however often it reruns.

import { LiveParts } from "../core/parts.js";
import { comparisonOf, inflate } from "../core/payload.js";
import { createPlayer } from "./player.js";

const instances = new WeakMap();

/** Streamlit calls this when the component appears, when its data change and when the theme changes. */
export default function mount({ parentElement, data, setTriggerValue, setStateValue }) {
  const instance = instances.get(parentElement) ?? open(parentElement, setTriggerValue, setStateValue);
  instance.show(data);
  return () => {
    instances.delete(parentElement);
    instance.close();
  };
}

function open(host, setTriggerValue, setStateValue) {
  let player = null;
  let shown = null;
  let work = Promise.resolve();
  let timer = 0;
  const live = new LiveParts();
  // One after the other: a rerun may come while the bytes of the last one are still being unpacked.
  const next = (step) => { work = work.then(step).catch((error) => console.error(error)); };
  const draw = async (comparison) => {
    clearTimeout(timer);
    if (player) return player.replace(comparison);
    player = await createPlayer(host, comparison, { vegaEmbed, onFork: (wish) => setTriggerValue("fork", wish) });
  };
  const drawLive = async () => {
    clearTimeout(timer);
    if (live.isDue) return draw(live.join());
    timer = setTimeout(() => next(drawLive), live.dueAt - performance.now());
  };
  const show = async (data) => {
    if (shown && sameBytes(shown, data)) return player?.layout();
    shown = data;
    const message = await inflate(data);
    const { head, reader } = message;
    if (!head.parts) return draw(comparisonOf(head, head.runs.map((meta) => reader.columns(meta.columns))));
    const before = live.num;
    const isWhole = live.add(message);
    // What is here need not be sent again; where something is missing, the word of it brings it.
    if (live.num !== before || !isWhole) setStateValue("have", { stream: live.stream, parts: live.num });
    return isWhole ? drawLive() : undefined;
  };
  const instance = {
    show: (data) => next(() => show(data)),
    close: () => { clearTimeout(timer); work.then(() => player?.destroy()); },
  };
  instances.set(host, instance);
  return instance;
}

function sameBytes(a, b) {
  return a.length === b.length && a.every((byte, k) => byte === b[k]);
}
