// Rows by problem, and who wins there. Pure functions.

import {problemKey} from './problem.js';

/**
 * What medians of one run, and of two, may be apart for the same code; as the program's maps have
 * it.
 */
const drift = 1.01;
const driftBetweenFiles = 1.03;

/** All figures are drawn of the same rows: what is found of them is kept as long as they are. */
const kept = new WeakMap();

/** True for a time that may win: measured, right, ours, and to be believed. */
export function mayWin(row) { return !row.peer && isTimed(row); }

/** True for a right and timed row, a peer's too. */
export function isTimed(row) {
  return row.status === 'measured' && row.right !== false && !row.suspect && row.cold_ms > 0;
}

/** Statuses that say that something is wrong; the others are results. */
export function isFailure(row) {
  return ['wrong', 'build_failed', 'run_failed', 'crashed', 'timeout'].includes(row.status);
}

/** True where `slower` can not be told from `faster`: their intervals, widened for drift, meet. */
export function isTie(faster, slower) {
  const widened = faster.file === slower.file ? drift : driftBetweenFiles;
  const low = slower.cold_low > 0 ? slower.cold_low : slower.cold_ms;
  const high = faster.cold_high > 0 ? faster.cold_high : faster.cold_ms;
  return !(low / high > widened);
}

function fastest(rows) {
  const best = new Map();
  for (const row of rows) {
    const known = best.get(row.variant);
    if (!known || row.cold_ms < known.cold_ms) best.set(row.variant, row);
  }
  return Array.from(best.values()).sort((a, b) => a.cold_ms - b.cold_ms);
}

function floorOf(rows, name) {
  return rows.reduce((most, row) => (row[name] > most ? row[name] : most), 0) || null;
}

/**
 * The rows by problem, in the order in which problems first come. Each: {key, row (any of its rows,
 * to name it by), rows, ranked (the fastest right row of each of our variants, the fastest first),
 * peers (likewise), ties (how many of `ranked` can not be told from the first, itself included),
 * floorMs, floorBytes}. A peer's file knows no copy rate: its problem's floor stands for it.
 */
export function contests(rows) {
  let known = kept.get(rows);
  if (!known) {
    known = gathered(rows);
    kept.set(rows, known);
  }
  return known.slice();
}

function gathered(rows) {
  const groups = new Map();
  for (const row of rows) {
    const key = problemKey(row);
    const group = groups.get(key);
    if (group) {
      group.push(row);
    } else {
      groups.set(key, [row]);
    }
  }
  return Array.from(groups, ([key, group]) => {
    const ranked = fastest(group.filter(mayWin));
    let ties = ranked.length > 0 ? 1 : 0;
    while (ties > 0 && ties < ranked.length && isTie(ranked[0], ranked[ties])) ++ties;
    return {
      key,
      row: ranked[0] || group[0],
      rows: group,
      ranked,
      peers: fastest(group.filter(row => row.peer && isTimed(row))),
      ties,
      floorMs: floorOf(group, 'floor_ms'),
      floorBytes: floorOf(group, 'floor_bytes')
    };
  });
}

/** The first of a contest that can be told from the winner; null where there is none. */
export function runnerUp(contest) { return contest.ranked[contest.ties] || null; }

/** The variants of some rows, ours first, each in the order of the alphabet. */
export function variantsOf(rows) {
  const peer = new Map();
  for (const row of rows) peer.set(row.variant, Boolean(row.peer));
  return Array.from(peer.keys()).sort((a, b) => peer.get(a) - peer.get(b) || (a < b ? -1 : 1));
}

/** How many items are of each kind: pairs [kind, number], the most first. */
export function countsOf(items, key) {
  return Array.from(groupBy(items, key), ([kind, list]) => [kind, list.length])
    .sort((a, b) => b[1] - a[1]);
}

/** A row of each variant, in the order of variantsOf(): what a key names. */
export function keysOf(rows) {
  const one = new Map(rows.map(row => [row.variant, row]));
  return variantsOf(rows).map(variant => one.get(variant));
}

/** Items by what `key` says of them: a Map of arrays, in the order in which they come. */
export function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const name = key(item);
    const group = groups.get(name);
    if (group) {
      group.push(item);
    } else {
      groups.set(name, [item]);
    }
  }
  return groups;
}
