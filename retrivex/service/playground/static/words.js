// Words and numbers, as they are shown everywhere on the page.

export const KINDS = {
  "seed selected": "hit, shown",
  "neighbour selected": "neighbour, shown",
  "link selected": "linked, shown",
  "seed dropped": "hit, left out",
  "neighbour dropped": "neighbour, left out",
  "link dropped": "linked, left out",
  "beyond refused": "where the window stopped",
};

export function kindOf(chunk) {
  return `${chunk.role} ${chunk.outcome}`;
}

export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

export function percent(share, digits = 0) {
  return `${(100 * share).toFixed(digits)} %`;
}

export function range(first, last) {
  return first === last ? `${first}` : `${first}–${last}`;
}
