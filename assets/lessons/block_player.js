// The animation, unpacked when it comes near: a page may hold many.

import { el } from "../player/core/dom.js";
import { createPlayer } from "../player/shell/player.js";
import { bytesOf, safeHtml } from "./lesson_parts.js";

const NEAR_PLAYER = "300px";
const NS_A_SECOND = 1e9;

export function playerBlock(block, context) {
  const place = new PlayerPlace(context, context.words("player"));
  place.show(block.run, block.options ?? {});
  const caption = block.caption_html ? safeHtml("figcaption", "mbl-caption", block.caption_html) : null;
  const here = block.run_here && !context.hides("links") ? el("p", { class: "mbl-caption" }, el("a", { href: block.run_here, text: context.words("run_here") })) : null;
  const element = el("figure", { class: "mbl-figure-box mbl-player mbl-broad" }, place.element, caption, here);
  return { element, rescale: (scale) => place.rescale(scale), destroy: () => place.destroy() };
}

/** Where one player stands: it is mounted once seen, takes other runs, and stops when it leaves the window. */
export class PlayerPlace {
  #work = Promise.resolve();

  constructor(context, label) {
    this.context = context;
    this.player = null;
    this.element = el("div", { class: "mbl-place", role: "group", "aria-label": label });
    this.observer = new IntersectionObserver((entries) => this.#seen(entries.at(-1).isIntersecting), { rootMargin: NEAR_PLAYER });
    this.observer.observe(this.element);
  }

  /** Show a run of the document. */
  show(run, options = {}) {
    if (!this.context.doc.runs?.[run] || run === this.run) return;
    Object.assign(this, { run, options });
    if (this.isNear) this.#queue(() => this.#mount());
  }

  rescale(scale) {
    this.#queue(() => {
      if (!this.player) return;
      this.player.store.comparison.options.scale = scale;
      this.player.layout();
    });
  }

  destroy() {
    this.observer.disconnect();
    this.isGone = true;
    this.#queue(() => this.player?.destroy());
  }

  #seen(isNear) {
    const isFirst = isNear && !this.player && !this.isNear;
    this.isNear = isNear;
    if (isFirst) this.#queue(() => this.#mount());
    else if (!isNear) this.player?.store.set({ isPlaying: false });
  }

  async #mount() {
    if (this.isGone || !this.run || this.run === this.mounted) return;
    const { context, options } = this;
    const bytes = bytesOf(context.doc.runs[this.run]);
    this.mounted = this.run;
    if (this.player) {
      await this.player.replace(bytes);
      return;
    }
    const start = { focus: options.focus, view: options.view };
    if (options.start_s !== undefined) start.position = options.start_s * NS_A_SECOND;
    if (options.loop_s) Object.assign(start, { loop: options.loop_s.map((s) => s * NS_A_SECOND), position: start.position ?? options.loop_s[0] * NS_A_SECOND });
    const overrides = { start, controls: options.controls ?? "all", autoplay: context.takeAutoplay(), scale: context.scale() };
    const make = context.options.createPlayer ?? createPlayer;
    this.player = await make(this.element, bytes, { vegaEmbed: context.options.vegaEmbed, overrides });
    this.element.classList.add("mbl-mounted");
    if (this.isGone) this.player.destroy();
  }

  /** One after the other: unpacking takes a while. */
  #queue(task) {
    this.#work = this.#work.then(task).catch((error) => console.error(error));
  }
}
