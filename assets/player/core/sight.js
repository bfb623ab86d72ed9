// What of a player can be seen: what can't need not be drawn while it plays.

const SIGHT_MARGIN = "200px"; // above and below the window: what comes into it is there already

export class Sight {
  #seen = new WeakMap();

  constructor() {
    const note = (entries) => { for (const { target, isIntersecting } of entries) this.#seen.set(target, isIntersecting); };
    this.observer = new IntersectionObserver(note, { rootMargin: SIGHT_MARGIN, scrollMargin: SIGHT_MARGIN });
  }

  /** Look after these elements, and no others. */
  watch(elements) {
    this.observer.disconnect();
    for (const element of elements) this.observer.observe(element);
  }

  /** Whether an element is in the window or near it; also where that is not known yet. */
  has(element) {
    return this.#seen.get(element) ?? true;
  }

  destroy() {
    this.observer.disconnect();
  }
}
