// The player in a page of its own, opened from disk or shown in a frame.

import { createPlayer } from "./player.js";
import { momentFrom } from "./share.js";

/**
 * Parameters of the page's address: t, axis, focus, pin, view, speed, loop as in a link; and
 * controls=none hides all but the lanes, autoplay=0 waits for the reader.
 */
export async function openPage(host, text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const parameters = new URLSearchParams(window.location.search);
  const overrides = {
    start: momentFrom(parameters),
    controls: parameters.get("controls") ?? "all",
    autoplay: parameters.get("autoplay") !== "0" && !parameters.has("t"),
  };
  return createPlayer(host, bytes, { vegaEmbed, overrides });
}
