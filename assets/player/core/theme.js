// The page's colours and type, as canvases need them.

/**
 * @typedef {object} Theme
 * @property {string} ink @property {string} muted @property {string} faint @property {string} surface
 * @property {string} lane ground of a slot that no request holds
 * @property {string} accent @property {string} font
 * @property {boolean} isDark
 * @property {number} scale 1, or more for a projector
 * @property {string[]} colours of requests @property {string[]} inks legible on each of them
 */

const FONT = '"Source Sans", "Source Sans 3", system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

/**
 * The theme of the page around `host`, told by its background, and the CSS variables that views use.
 * @param {HTMLElement} host
 * @param {object} words of the payload: `themes` (light and dark), `colours`, `inks`
 */
export function readTheme(host, words, scale = 1) {
  const background = getComputedStyle(host).getPropertyValue("--st-background-color").trim() || pageBackground(host);
  const isDark = luminance(background) < 0.4;
  const theme = { ...words.themes[isDark ? "dark" : "light"], font: FONT, isDark, scale };
  return { ...theme, colours: words.colours, inks: words.inks };
}

/** Set the theme's colours as CSS variables on an element. */
export function applyTheme(element, theme) {
  const { ink, muted, faint, surface, lane, accent, good, bad, phases } = theme;
  const variables = { ink, muted, faint, surface, lane, accent, good, bad, ...phases, scale: theme.scale };
  for (const [name, value] of Object.entries(variables)) element.style.setProperty(`--${name}`, value);
  element.style.setProperty("color-scheme", theme.isDark ? "dark" : "light");
}

export function requestColour(theme, request) {
  return theme.colours[request % theme.colours.length];
}

export function requestInk(theme, request) {
  return theme.inks[request % theme.inks.length];
}

/** The first background behind an element that is not transparent. */
function pageBackground(host) {
  for (let element = host; element; element = element.parentElement ?? element.getRootNode().host) {
    const colour = getComputedStyle(element).backgroundColor;
    if (colour && !/^(transparent|rgba\(.*, 0\))$/.test(colour)) return colour;
  }
  return "#ffffff";
}

function luminance(colour) {
  const context = document.createElement("canvas").getContext("2d");
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}
