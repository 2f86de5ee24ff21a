// Operators against length: the fastest form of each at one shape, and where one overtakes another.

import {symbols} from 'd3';

import {inkAt, symbolAt} from '../colours.js';

import {pager} from './choices.js';
import {contests, groupBy} from './contest.js';
import {pageOf} from './layout.js';
import {lengthOf, partsOf} from './problem.js';
import {drawPanels, isSeries} from './series.js';
import {count, extent} from './units.js';

export const id = 'operators';
export const title = 'Operators against length';
export const question = 'From which length is another operator the faster one?';
/** Most pages have one operator alone, or one length. */
export const optional = true;

const perPage = 2;
/** Times nearer to each other than this are a tie: another run may turn them round. */
const tie = Math.log(1.02);

/** What two operators must have in common, so that a sequence of one could be one of the other. */
function shapeKey(row) {
  return [row.direction, row.dtype, row.layout, row.batch, row.heads, row.key_dim, row.value_dim,
    row.backend, row.device].join('|');
}

/** Self-attention and recurrences over whole sequences, as many heads of keys as of queries. */
function isComparable(row) {
  return row.seq > 0 && row.heads > 0 && !(row.sequences > 0) && !(row.model_dim > 0) &&
    !(row.key_seq > 0 && row.key_seq !== row.seq) &&
    !(row.key_heads > 0 && row.key_heads !== row.heads);
}

/** An operator and what it was asked for besides its regime of gates, as a list of words. */
function wordsOf(row) {
  return partsOf(row)
    .filter(([what]) => ['operator', 'initial_state', 'final_state', 'scale'].includes(what) ||
        what.startsWith('option '))
    .map(part => part[1]);
}

/** Names of lines, each its own: a regime is named where it is not the operator's only one. */
function namesOfLines(rows) {
  const gates = new Map();
  for (const row of rows) {
    if (!gates.has(row.operator)) gates.set(row.operator, new Set());
    gates.get(row.operator).add(row.gate);
  }
  const plain = new Set(['none', 'normal']);
  return rows.map(row => {
    const [operator, ...rest] = wordsOf(row);
    const tells = gates.get(row.operator).size > 1 || !plain.has(row.gate);
    return [operator].concat(tells ? [row.gate] : [], rest).join(' ');
  });
}

function pointOf(contest) {
  const [row] = contest.ranked;
  return {
    row,
    length: lengthOf(row).value,
    value: row.cold_ms,
    low: row.cold_low > 0 ? row.cold_low : null,
    high: row.cold_high > 0 ? row.cold_high : null
  };
}

/**
 * Where two lines cross: [{faster, slower, from}], the length from which `faster` takes less time
 * than `slower`, which was the faster one before. Between two measured lengths both are taken as
 * powers of the length.
 */
export function crossingsOf(a, b) {
  const other = new Map(b.points.map(point => [point.length, point.value]));
  const both = a.points.filter(point => other.has(point.length)).map(point => ({
    at: Math.log(point.length),
    ahead: Math.log(other.get(point.length) / point.value)
  }));
  const found = [];
  // A length at which both take about the same time decides nothing: the next one does.
  const clear = both.filter(point => Math.abs(point.ahead) > tie);
  for (let i = 1; i < clear.length; ++i) {
    const [from, to] = [clear[i - 1], clear[i]];
    if (Math.sign(from.ahead) === Math.sign(to.ahead)) continue;
    const share = from.ahead / (from.ahead - to.ahead);
    const [faster, slower] = to.ahead > 0 ? [a, b] : [b, a];
    found.push({
      faster: faster.variant,
      slower: slower.variant,
      from: Math.exp(from.at + share * (to.at - from.at))
    });
  }
  return found;
}

function panelOf(family) {
  const lines = Array
                  .from(groupBy(family, contest => {
                    const [row] = contest.ranked;
                    return `${row.gate}|${wordsOf(row).join('|')}`;
                  }).values(),
                    list => list.map(pointOf).sort((a, b) => a.length - b.length))
                  .map(points => ({points, peer: false}))
                  .filter(line => isSeries(line.points.map(point => point.length)));
  if (new Set(lines.map(line => line.points[0].row.operator)).size < 2) return null;
  namesOfLines(lines.map(line => line.points[0].row)).forEach((name, i) => {
    lines[i].variant = name;
  });
  lines.sort((a, b) => (a.variant < b.variant ? -1 : 1));
  const crossings = [];
  lines.forEach((line, i) => lines.slice(i + 1).forEach(
    later => crossings.push(...crossingsOf(line, later))));
  crossings.sort((a, b) => a.from - b.from);
  const lengths = new Set([].concat(...lines.map(line => line.points.map(point => point.length))));
  const [{row}] = lines[0].points;
  return {
    row,
    name: partsOf(row).filter(([what]) => ['direction', 'dtype', 'batch', 'heads', 'key_dim',
      'value_dim', 'layout', 'backend'].includes(what)).map(part => part[1]).join(' '),
    lines,
    crossings,
    floor: [],
    lengths: Array.from(lengths).sort((a, b) => a - b)
  };
}

/**
 * {panels: [{row, name, lengths, floor: [], lines: [{variant, peer, points: [{row, length, value,
 * low, high}]}], crossings: [{faster, slower, from}]}], common, relative, names}: a panel for each
 * shape that several operators were measured with at several lengths; `variant` is a line's name.
 */
export function model(rows, context) {
  const families = groupBy(contests(rows).filter(
    contest => contest.ranked.length > 0 && isComparable(contest.ranked[0])),
  contest => shapeKey(contest.ranked[0]));
  const panels = Array.from(families.values(), panelOf).filter(Boolean);
  if (panels.length === 0) {
    return {empty: 'No two operators here have one shape at several lengths.'};
  }
  panels.sort((a, b) => b.lines.length * b.lengths.length - a.lines.length * a.lengths.length);
  const shown = pageOf(panels, (context.chosen || {}).page, perPage);
  const told = [].concat(...shown.items.map(panel => panel.crossings));
  return {
    panels: shown.items,
    common: '',
    relative: false,
    names: Array.from(new Set([].concat(...shown.items.map(
      panel => panel.lines.map(line => line.variant))))).sort(),
    note: 'The fastest right tile of the fastest variant at each length. ' + (told.length
      ? `${told.map(({faster, slower, from}) =>
        `${faster} overtakes ${slower} at T = ${extent(Number(from.toPrecision(2)))}`).join('; ')}.`
      : 'No line crosses another.'),
    choices: [pager(shown.page, shown.pages, count(panels.length, 'shape'))]
  };
}

export function draw(node, shown, context) {
  const at = name => shown.names.indexOf(name);
  const own = Object.assign({}, context, {
    colour: name => inkAt(at(name), context.dark),
    symbol: name => symbols[symbolAt(at(name))],
    dash: () => ''
  });
  drawPanels(node, shown, own, {id, title, question});
}
