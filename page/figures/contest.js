// Rows by problem, and who wins there. Pure functions.

import {isFailure} from '../rows.js';
import {problemKey} from './problem.js';

export {isFailure};

/** All figures are drawn of the same rows: what is found of them is kept as long as they are. */
const kept = new WeakMap();

/** Standings of rows whose time may be believed; the program decides them (records/contest.hpp). */
const competing = new Set(['winner', 'tied', 'slower']);
const believed = new Set([...competing, 'slower_tile', 'peer']);

/** True for a time that may win: measured, right, ours, and to be believed. */
export function mayWin(row) { return !row.peer && isTimed(row); }

/** True for a right and timed row, a peer's too. */
export function isTimed(row) { return believed.has(row.standing); }

function byRank(rows) { return rows.sort((a, b) => a.rank - b.rank); }

function floorOf(rows, name) {
  return rows.reduce((most, row) => (row[name] > most ? row[name] : most), 0) || null;
}

/**
 * The rows by problem, in the order in which problems first come. Each: {key, row (any of its rows,
 * to name it by), rows, ranked (the fastest right row of each of our variants, the fastest first),
 * peers (likewise), tied (those of `ranked` that cannot be told apart from its first), floorMs,
 * floorBytes}. The program decided all of this; filters only leave rows out. A peer's file knows no
 * copy rate: its problem's floor stands for it.
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
  return Array.from(groupBy(rows, row => row.contest).values(), group => {
    const ranked = byRank(group.filter(row => competing.has(row.standing)));
    const [winner] = ranked;
    return {
      key: problemKey(group[0]),
      row: winner || group[0],
      rows: group,
      ranked,
      peers: byRank(group.filter(row => row.standing === 'peer')),
      tied: ranked.slice(1).filter(row => (winner.ties || []).includes(row.rank)),
      floorMs: (winner && winner.floor_ms) || floorOf(group, 'floor_ms'),
      floorBytes: floorOf(group, 'floor_bytes')
    };
  });
}

/** The first of a contest that can be told from the winner; null where there is none. */
export function runnerUp(contest) {
  return contest.ranked.slice(1).find(row => !contest.tied.includes(row)) || null;
}

/**
 * A row's time over that of the contest's first. The program's figure is of the winner among all
 * rows, which the filters may have left out.
 */
export function overFirst(contest, row) {
  const [first] = contest.ranked;
  return first.standing === 'winner' && typeof row.over_winner === 'number'
    ? row.over_winner : row.cold_ms / first.cold_ms;
}

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
