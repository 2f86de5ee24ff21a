// Numbers as people read them, as the figures have them; an en dash for what is not there.

import * as units from './figures/units.js';

export const nothing = '\u2013';

const present = show => value => value === null || value === undefined ? nothing : show(value);

/** Milliseconds, with the unit that fits: "12.3 µs", "1.23 ms", "2.50 s". */
export const duration = present(units.time);
/** "679 MB" */
export const bytes = present(units.bytes);
/** Of 1: "87 %" */
export const percent = present(units.percent);
/** "1.43×" */
export const factor = present(units.factor);
/** An error: "1.2e-3" */
export const error = present(units.error);
/** Three significant digits. */
export const significant = present(units.rate);
/** Joules: "12.3 mJ" */
export const energy = present(units.joules);
/** 12345 -> "12,345" */
export const count = value => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ',');

/** "1 record", "2,000 records" */
export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}
