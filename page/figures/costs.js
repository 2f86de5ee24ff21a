// What candidates cost, and which of them no other beats. Pure functions.

import {shareOf} from './error.js';
import {bytesOf} from './roofline.js';
import {bytes, joules as energy, percent} from './units.js';

// Counts and medians of one candidate differ by that much between runs.
const alike = 1.01;


/** What a candidate costs: how it is read off a row, and how it is written. */
export const measures = {
  bytes: {
    name: 'bytes',
    label: 'bytes moved',
    of: row => (bytesOf(row) || {bytes: null}).bytes,
    format: bytes,
    scale: 'log'
  },
  error: {
    name: 'error',
    label: 'error, share of its bound',
    of: shareOf,
    format: percent,
    scale: 'linear'
  },
  workspace: {
    name: 'workspace',
    label: 'workspace',
    of: row => (row.peer || row.workspace_bytes === undefined ? null : row.workspace_bytes),
    format: bytes,
    scale: 'log'
  },
  energy: {
    name: 'energy',
    label: 'energy of a call',
    of: row => (row.joules > 0 ? row.joules : null),
    format: energy,
    scale: 'log'
  }
};

/**
 * The candidates that no other covers: none is as good (to 1 %) in all of `objectives` and faster.
 * Each candidate is {row, time, bytes, error, workspace}; one that lacks an objective is left out.
 * The fastest first.
 */
export function frontOf(candidates, objectives) {
  const whole = candidates.filter(one => objectives.every(name => Number.isFinite(one[name])));
  whole.sort((a, b) => a.time - b.time);
  const front = [];
  for (const one of whole) {
    if (!front.some(other => objectives.every(name => other[name] <= one[name] * alike))) {
      front.push(one);
    }
  }
  return front;
}

/** A row as {row, time, bytes, error, workspace, energy}; null where not known. */
export function candidateOf(row) {
  const candidate = {row, time: row.cold_ms};
  for (const name of Object.keys(measures)) candidate[name] = measures[name].of(row);
  return candidate;
}
