// Numbers as a lesson's language writes and reads them. `marks` are its decimal mark and that between groups of digits.

/** The marks of a language. @returns {{decimal: string, group: string}} */
export function marksOf(strings) {
  return { decimal: strings?.decimal_mark ?? ".", group: strings?.group_mark ?? "," };
}

/** A number in at most three significant figures. */
export function shortNumber(value, marks) {
  const english = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 }).format(value);
  return english.replace(/[.,]/g, (mark) => (mark === "." ? marks.decimal : marks.group));
}

/** A number with its unit. */
export function withUnit(value, unit, marks) {
  if (!unit) return shortNumber(value, marks);
  return `${shortNumber(value, marks)}${unit === "x" ? "×" : ` ${unit}`}`;
}

/** A number as somebody would type it. */
export function typedNumber(value, marks) {
  return String(value).replace(".", marks.decimal);
}

/**
 * What was typed as a number; null if it is none. It is read as the language writes numbers, or, where it can't
 * be that, with comma and point exchanged: 1,5 and 1.5 are the same everywhere, 1.234 is 1234 in German alone.
 * @returns {number|null}
 */
export function readNumber(text, { decimal }) {
  const plain = text.trim().replace("−", "-").replace(/(?<=\d)[\s_'’](?=\d{3}(?!\d))/g, "");
  const other = decimal === "," ? "." : ",";
  for (const [point, comma] of [[decimal, other], [other, decimal]]) {
    const form = new RegExp(`^[+-]?([1-9]\\d{0,2}(\\${comma}\\d{3})+|\\d+)?(\\${point}\\d*)?(e[+-]?\\d+)?$`, "i");
    if (!form.test(plain) || !/^\D?\D?\d/.test(plain)) continue;
    const value = Number(plain.replaceAll(comma, "").replace(point, "."));
    return Number.isFinite(value) ? value : null;
  }
  return null;
}

/** How charts of Vega write numbers. */
export function chartLocale({ decimal, group }) {
  return { number: { decimal, thousands: group, grouping: [3], currency: ["", ""] } };
}
