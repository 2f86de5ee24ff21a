// Who wins where, and by how much. Pure functions of rows.

import {hasRightTime} from './rows.js';

/** The fastest right row of each variant, the fastest first. */
function bestOfEach(rows) {
  const best = new Map();
  for (const row of rows) {
    const known = best.get(row.variant);
    if (!known || row.cold_ms < known.cold_ms) best.set(row.variant, row);
  }
  return [...best.values()].sort((a, b) => a.cold_ms - b.cold_ms);
}

/** True where the intervals of two medians overlap: which is the faster can not be told. */
export function tied(a, b) {
  if (a.cold_high === null || b.cold_low === null) return false;
  return b.cold_low <= a.cold_high && a.cold_low <= b.cold_high;
}

/**
 * A contest for each problem and device on which anything right was timed, in the order of their
 * first rows: {row: the winner, ranking: the best row of each of our variants, next: the second with
 * over (its time over the winner's) and tied, or null; peer: the fastest peer likewise}.
 */
export function contests(rows) {
  const groups = new Map();
  for (const row of rows) {
    if (!hasRightTime(row)) continue;
    const key = `${row.problem} ${row.device}`;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  const list = [];
  for (const group of groups.values()) {
    const ranking = bestOfEach(group.filter(row => !row.peer));
    if (ranking.length === 0) continue;
    const against = other => other ? {row: other, over: other.cold_ms / ranking[0].cold_ms,
      tied: tied(ranking[0], other)} : null;
    list.push({row: ranking[0], ranking, next: against(ranking[1]),
      peer: against(bestOfEach(group.filter(row => row.peer))[0])});
  }
  return list;
}
