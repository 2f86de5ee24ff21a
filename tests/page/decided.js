// What the program decides about the rows of a page, for rows that tests make: the standings that
// harness/records/contest.cpp would write, by a plain rule. A percent more is a tie.

import * as bytesFigure from '../../page/figures/bytes.js';
import * as crossoverFigure from '../../page/figures/crossover.js';
import * as headroomFigure from '../../page/figures/headroom.js';
import * as operatorsFigure from '../../page/figures/operators.js';
import * as paretoFigure from '../../page/figures/pareto.js';
import * as peersFigure from '../../page/figures/peers.js';
import * as predictedFigure from '../../page/figures/predicted.js';
import {problemKey} from '../../page/figures/problem.js';
import * as rooflineFigure from '../../page/figures/roofline.js';
import * as stagesFigure from '../../page/figures/stages.js';
import * as tallyFigure from '../../page/figures/tally.js';
import * as tilesFigure from '../../page/figures/tiles.js';
import * as timeFigure from '../../page/figures/time.js';
import * as winsFigure from '../../page/figures/wins.js';

const right = row => row.status === 'measured' && row.right !== false && !row.suspect &&
  row.cold_ms > 0;
const failures = ['wrong', 'build_failed', 'run_failed', 'crashed', 'timeout'];

function standingOf(row) {
  if (failures.includes(row.status) || row.right === false) return 'failed';
  if (row.suspect) return 'suspect';
  return right(row) ? 'slower_tile' : 'not_timed';
}

/** The fastest row of each variant, the fastest first. */
function fastest(rows) {
  const best = new Map();
  for (const row of rows) {
    if (!best.has(row.variant) || row.cold_ms < best.get(row.variant).cold_ms) {
      best.set(row.variant, row);
    }
  }
  return Array.from(best.values()).sort((a, b) => a.cold_ms - b.cold_ms);
}

/** The rows, with what the program says of each: contest, standing, rank, over_winner, ties. */
export function decided(rows) {
  const groups = new Map();
  for (const row of rows) {
    const key = problemKey(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
    Object.assign(row, {contest: Array.from(groups.keys()).indexOf(key), rank: null, ties: null,
      over_winner: null, standing: standingOf(row)});
  }
  for (const group of groups.values()) {
    const ours = fastest(group.filter(row => right(row) && !row.peer));
    const peers = fastest(group.filter(row => right(row) && row.peer));
    const isTied = (a, b) => a !== b && Math.max(a.cold_ms, b.cold_ms) <=
      1.01 * Math.min(a.cold_ms, b.cold_ms);
    ours.forEach((row, i) => Object.assign(row, {rank: i + 1,
      standing: i === 0 ? 'winner' : isTied(ours[0], row) ? 'tied' : 'slower',
      over_winner: row.cold_ms / ours[0].cold_ms,
      ties: ours.map((other, j) => isTied(row, other) ? j + 1 : 0).filter(rank => rank > 0)}));
    peers.forEach((row, i) => Object.assign(row, {rank: i + 1, standing: 'peer',
      over_winner: ours.length ? row.cold_ms / ours[0].cold_ms : null}));
  }
  return rows;
}

/** A figure whose rows are decided first. */
function withDecision(figure) {
  const model = (rows, context) => figure.model(decided(rows), context);
  return Object.assign({}, figure, {model});
}

export const bytes = withDecision(bytesFigure);
export const crossover = withDecision(crossoverFigure);
export const headroom = withDecision(headroomFigure);
export const predicted = withDecision(predictedFigure);
export const pareto = withDecision(paretoFigure);
export const peers = withDecision(peersFigure);
export const roofline = withDecision(rooflineFigure);
export const stages = withDecision(stagesFigure);
export const tally = withDecision(tallyFigure);
export const tiles = withDecision(tilesFigure);
export const operators = withDecision(operatorsFigure);
export const time = withDecision(timeFigure);
export const wins = withDecision(winsFigure);
