// Numbers as people read them. Each gives an en dash for what is not there.

export const nothing = '\u2013';

/** `digits` significant digits without an exponent between 1e-4 and 1e6. */
export function significant(value, digits = 3) {
  if (value === null || value === undefined) return nothing;
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : String(value);
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return value.toExponential(Math.max(0, digits - 2));
  const rounded = Number(value.toPrecision(digits));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(rounded))));
  return rounded.toFixed(Math.min(decimals, 20));
}

/** Milliseconds, with the unit that fits: "12.3 µs", "1.23 ms", "2.50 s". */
export function duration(ms) {
  if (ms === null || ms === undefined) return nothing;
  if (ms < 0.1) return `${significant(ms * 1e3)} \u00b5s`;
  return ms < 1000 ? `${significant(ms)} ms` : `${significant(ms / 1e3)} s`;
}

const prefixes = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

function scaled(value, unit) {
  if (value === null || value === undefined) return nothing;
  const prefix = prefixes.find(([size]) => Math.abs(value) >= size);
  return prefix ? `${significant(value / prefix[0])} ${prefix[1]}${unit}`
    : `${significant(value)} ${unit}`;
}

export const bytes = value => scaled(value, 'B');
export const flops = value => scaled(value, 'FLOP');

/** Of 1: "87 %" */
export function percent(share) {
  if (share === null || share === undefined) return nothing;
  const value = 100 * share;
  return `${Math.abs(value) < 10 ? significant(value, 2) : count(Math.round(value))} %`;
}

/** "1.43×" */
export function factor(value) {
  return value === null || value === undefined ? nothing : `${significant(value)}\u00d7`;
}

/** An error: "1.2e-3" */
export function error(value) {
  if (value === null || value === undefined) return nothing;
  if (value === 0) return '0';
  return Number.isFinite(value) ? value.toExponential(1) : String(value);
}

/** Joules: "12.3 mJ" */
export function energy(joules) {
  if (joules === null || joules === undefined) return nothing;
  return joules < 1 ? `${significant(joules * 1e3)} mJ` : `${significant(joules)} J`;
}

/** 12345 -> "12,345" */
export function count(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}
