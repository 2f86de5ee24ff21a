// A colour, a symbol and a dash for each variant by its name: the same in every figure and on every
// page. Colours of variants that compete differ for colour-blind readers too
// (tests/page/colours_test.js measures it); symbols and dashes are the second channel.

// [on a light ground, on a dark one]
const inks = {
  vermilion: ['#b23300', '#dd5c1f'],
  blue: ['#2457c5', '#6f8cf1'],
  sky: ['#369ad4', '#9cdffe'],
  amber: ['#bf8811', '#f0be46'],
  green: ['#5c8d63', '#2daf7a'],
  pink: ['#c95494', '#f38dc2'],
  wine: ['#6e2148', '#b45a8d'],
  olive: ['#504d2c', '#abac58']
};
const order = Object.keys(inks);
const grey = ['#6b7280', '#9aa3b0'];

/** Indices into d3.symbols: circle, cross, diamond, square, star, triangle, wye. */
const marks = 7;
const dashes = ['', '6 3', '2 3', '8 3 2 3', '12 4', '1 4', '4 2 1 2', '10 3 3 3'];

const assigned = {
  // linear recurrences
  chunk_sm90: ['vermilion', 0], chunk_fused: ['blue', 3], chunk_materialized: ['sky', 2],
  chunk_pipeline: ['amber', 5], recurrent: ['green', 4], decode: ['pink', 1],
  parallel: ['wine', 6], parallel_cublas: ['olive', 3],
  // softmax
  online_blocked: ['vermilion', 4], online: ['blue', 6], three_pass: ['green', 0],
  // attention
  flash2: ['vermilion', 3], flash1: ['amber', 0], flash2_deterministic: ['blue', 2],
  materialized: ['green', 1], flash_decoding: ['sky', 5], flash_decoding_pp: ['wine', 4],
  // the layer
  fused: ['vermilion', 5], composed: ['blue', 0]
};

/** The variants whose colours are chosen, for the test of them. */
export const named = Object.keys(assigned);

/** A number that goes by the letters of a name, for names that have no fixed colour. */
function hash(name) {
  let value = 2166136261;
  for (let at = 0; at < name.length; ++at) {
    value = Math.imul(value ^ name.charCodeAt(at), 16777619) >>> 0;
  }
  return value;
}

/** Peers have a package in front of their function: "fla.chunk_gla". They are grey and dashed. */
export function isPeerName(variant) {
  return variant.includes('.');
}

function entryOf(variant) {
  if (Object.prototype.hasOwnProperty.call(assigned, variant)) return assigned[variant];
  const value = hash(variant);
  return [order[value % order.length], (value >>> 8) % marks];
}

export function colourOf(variant, dark) {
  const ink = isPeerName(variant) ? grey : inks[entryOf(variant)[0]];
  return ink[dark ? 1 : 0];
}

export function symbolOf(variant) {
  return isPeerName(variant) ? hash(variant) % marks : entryOf(variant)[1];
}

/** A stroke-dasharray, "" for a whole line. Peers are dashed, ours by colour. */
export function dashOf(variant) {
  if (isPeerName(variant)) return dashes[1 + hash(variant) % (dashes.length - 1)];
  return '';
}

/** The ink of place `i` of a list, for lines that are no variants: the ninth is as the first. */
export function inkAt(i, dark) { return inks[order[i % order.length]][dark ? 1 : 0]; }

/** The symbol of the place `i` of a list, likewise. */
export function symbolAt(i) { return i % marks; }
