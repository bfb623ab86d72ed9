// The page's colours for lessons: minibatch/ui/shared/palette.py writes them as variables by theme, charts read them from there.

import { readTheme } from "../player/core/theme.js";

const LESSON_COLOURS = ["ink", "muted", "faint", "surface", "lane", "accent", "good", "bad"];
const NO_WORDS = { themes: { light: {}, dark: {} } };

/** Set the theme of the page around on the lesson's element. @returns {boolean} whether it is another than before */
export function themeLesson(root) {
  const host = root.parentNode instanceof ShadowRoot ? root.parentNode.host : root.parentElement;
  const name = host && readTheme(host, NO_WORDS).isDark ? "dark" : "light";
  if (root.dataset.theme === name) return false;
  root.dataset.theme = name;
  return true;
}

/** The theme as the player's charts take it. @returns {Theme} */
export function lessonTheme(root, scale) {
  const style = getComputedStyle(root);
  const colours = Object.fromEntries(LESSON_COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  return { ...readTheme(root, NO_WORDS, scale), ...colours, isDark: root.dataset.theme === "dark" };
}

/** Calls `onChange` when the page's theme may have changed. @returns {() => void} that ends it */
export function watchTheme(onChange) {
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", onChange);
  // Hosts set a class or a style on the page; nothing tells of a custom property that changes.
  const observer = new MutationObserver(onChange);
  for (const element of [document.documentElement, document.body]) observer.observe(element, { attributes: true, attributeFilter: ["class", "style", "data-theme"] });
  return () => {
    scheme.removeEventListener("change", onChange);
    observer.disconnect();
  };
}
