// The clock of a player: one animation loop, which runs only while something moves or has changed.

const PACE_S = 30; // seconds that the whole axis takes at speed 1
const STEPS_PER_S = 4; // at most, where motion is reduced
const FOLLOW_S = 0.4; // time in which the playhead closes up to the head of a run in progress
const LIVE_MS = 125; // between two frames of a run in progress: the engine needs the processor more

export class Motion {
  /** @param {import("./store.js").Store} store @param {(now: number) => void} draw */
  constructor(store, draw) {
    this.store = store;
    this.draw = draw;
    this.request = 0;
    this.timer = 0;
    this.last = 0;
    this.ahead = null;
    this.reduced = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.stop = store.subscribe(() => this.wake());
  }

  /** Draw the next frame, and go on while the store plays. */
  wake() {
    if (!this.request && !this.timer) this.request = requestAnimationFrame((now) => this.#frame(now));
  }

  destroy() {
    this.stop();
    clearTimeout(this.timer);
    cancelAnimationFrame(this.request);
    this.request = -1; // never again
  }

  #frame(now) {
    this.request = 0;
    const { store } = this;
    if (store.isPlaying) this.#move(Math.min(0.25, (now - (this.last || now)) / 1000), now);
    this.last = store.isPlaying ? now : 0;
    if (!store.isPlaying) this.ahead = null;
    this.draw(now);
    if (!store.isPlaying) return;
    if (!store.comparison.options.live) this.wake();
    else this.timer ||= setTimeout(() => { this.timer = 0; this.wake(); }, LIVE_MS);
  }

  #move(seconds, now) {
    const { store } = this;
    if (store.isFollowing) {
      const head = store.runs[store.runs.length - 1].lastPosition(store.axis);
      const closer = store.position + (head - store.position) * Math.min(1, seconds / FOLLOW_S);
      store.set({ position: head - closer < 1e-6 * head ? head : closer });
    } else if (this.reduced.matches) {
      this.#hop(seconds, now);
    } else {
      this.#land(this.#glide(store.position, seconds));
    }
  }

  #glide(position, seconds) {
    const { store } = this;
    if (store.speed !== "real") return position + (store.end / PACE_S) * store.speed * seconds;
    if (store.axis === "time") return position + seconds * 1e9;
    const run = store.runs[store.focus];
    const { i } = run.locate("iterations", position);
    return position + (seconds * 1e9) / Math.max(1, run.duration[Math.max(0, i)]);
  }

  /** Reduced motion: the playhead stands at whole iterations, and moves a few times a second. */
  #hop(seconds, now) {
    const { store } = this;
    this.ahead ??= { position: store.position, until: now };
    this.ahead.position = this.#glide(this.ahead.position, seconds);
    if (now < this.ahead.until) return;
    this.ahead.until = now + 1000 / STEPS_PER_S;
    const run = store.runs[store.focus];
    const { i } = run.locate(store.axis, this.ahead.position);
    if (this.ahead.position >= store.end) this.#land(this.ahead.position);
    else this.#land(Math.max(store.position, run.position(store.axis, Math.max(0, i))));
  }

  #land(position) {
    const { store } = this;
    const [from, to] = store.loop?.[1] != null ? store.loop : [0, Infinity];
    if (position >= to) {
      const again = from + ((position - from) % (to - from));
      store.set({ position: again });
      if (this.ahead) this.ahead.position = again;
    } else if (position >= store.end) {
      store.set({ position: store.end, isPlaying: false });
    } else {
      store.set({ position });
    }
  }
}
