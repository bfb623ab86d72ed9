// The player as a Streamlit component: one instance for each place on the page, however often it reruns.

import { createPlayer } from "./player.js";

const instances = new WeakMap();

/** Streamlit calls this when the component appears, when its data change and when the theme changes. */
export default function mount({ parentElement, data, setTriggerValue }) {
  const instance = instances.get(parentElement) ?? open(parentElement, setTriggerValue);
  instance.show(data);
  return () => {
    instances.delete(parentElement);
    instance.close();
  };
}

function open(host, setTriggerValue) {
  let player = null;
  let shown = null;
  let work = Promise.resolve();
  const show = async (data) => {
    if (player && sameBytes(shown, data)) return player.layout();
    shown = data;
    if (player) return player.replace(data);
    player = await createPlayer(host, data, { vegaEmbed, onFork: (wish) => setTriggerValue("fork", wish) });
  };
  const instance = {
    // One after the other: a rerun may come while the bytes of the last one are still being unpacked.
    show: (data) => { work = work.then(() => show(data)).catch((error) => console.error(error)); },
    close: () => { work.then(() => player?.destroy()); },
  };
  instances.set(host, instance);
  return instance;
}

function sameBytes(a, b) {
  return a.length === b.length && a.every((byte, k) => byte === b[k]);
}
