// Error against its bound: every variant in every input regime and dtype.

import {pager, picker} from './choices.js';
import {groupBy, isFailure, variantsOf} from './contest.js';
import {groupAt, heading, interactive, mark, svgOf, tone, write} from './frame.js';
import {fit, pageOf} from './layout.js';
import {nameOf} from './problem.js';
import {count, dtype, error, percent} from './units.js';

export const id = 'error';
export const title = 'Error against its bound';
export const question = 'Is every variant right in every regime of inputs, and how much of its ' +
  'bound does it use?';

const perPage = 4;
const namesWidth = 196;
const dtypes = ['float32', 'float16', 'bfloat16'];

/**
 * How much of its bound a row's worst tensor uses; NaN where the error is none; null unverified.
 */
export function shareOf(row) {
  if (row.error === null || row.error === undefined) return row.status === 'wrong' ? NaN : null;
  const value = Number(row.error);
  return row.bound > 0 ? value / row.bound : NaN;
}

function worse(a, b) {
  if (Number.isNaN(a.share)) return a;
  return Number.isNaN(b.share) || b.share > a.share ? b : a;
}

function cellOf(rows) {
  const judged = rows.map(row => ({row, share: shareOf(row)})).filter(one => one.share !== null);
  if (judged.length === 0) return null;
  const worst = judged.reduce(worse);
  return {
    row: worst.row,
    share: worst.share,
    error: Number(worst.row.error),
    bound: worst.row.bound,
    rows: judged.length,
    ok: worst.share <= 1 && !judged.some(one => isFailure(one.row))
  };
}

function panelOf(rows) {
  const [first] = rows;
  const variants = variantsOf(rows);
  const columns = Array.from(groupBy(rows, row => `${row.dtype}|${row.gate || 'none'}`).values(),
    list => ({dtype: list[0].dtype, gate: list[0].gate || 'none', rows: list}));
  columns.sort(
    (a, b) => dtypes.indexOf(a.dtype) - dtypes.indexOf(b.dtype) || (a.gate < b.gate ? -1 : 1));
  const lines = variants.map(variant => ({
    variant,
    row: rows.find(row => row.variant === variant),
    cells: columns.map(column => cellOf(column.rows.filter(row => row.variant === variant)))
  }));
  return {
    name: `${first.operator} ${first.direction}`,
    lines,
    verified: rows.length,
    columns: columns.map(column => ({dtype: column.dtype, gate: column.gate}))
  };
}

/**
 * {panels: [{name, columns: [{dtype, gate}], lines: [{variant, cells: [{row, share, error, bound,
 * rows, ok} or null]}]}], show}: for each variant, dtype and regime the row that uses most of its
 * bound; `rows` is how many were verified there.
 */
export function model(rows, context) {
  const judged = rows.filter(row => shareOf(row) !== null);
  if (judged.length === 0) {
    return {empty: rows.length === 0 ? 'No row passes the filters.' : 'Nothing here was verified.'};
  }
  const show = picker(context, 'show', 'Show',
    [{value: 'share', label: 'share of the bound'}, {value: 'error', label: 'relative error'}]);
  const panels =
    Array.from(groupBy(judged, row => `${row.operator} ${row.direction}`).values(), panelOf);
  const wrong = panel => panel.lines.some(line => line.cells.some(cell => cell && !cell.ok));
  panels.sort((a, b) => wrong(b) - wrong(a) || b.verified - a.verified);
  const page = pageOf(panels, (context.chosen || {}).page, perPage);
  return {
    panels: page.items,
    show: show.value,
    note: 'Each cell is the worst of all its shapes and tiles: relative L2 error of the output ' +
      'that uses most of its bound, against float64. ' +
      'A bound is the smaller of a cap and a multiple of what a plain computation in the same ' +
      'arithmetic errs on the same inputs.',
    choices: [show, pager(page.page, page.pages, count(panels.length, 'operator'))]
  };
}

function drawCell(context, parent, cell, size, show) {
  const group = groupAt(parent, size.x, size.y).attr('class', 'cell').datum(cell);
  const strength = Math.min(1, Math.max(0, cell.share || 0));
  group.append('rect')
    .attr('width', size.width - 2)
    .attr('height', size.height - 2)
    .attr('rx', 2)
    .style('fill', tone.faint)
    .attr('opacity', 0.55);
  group.append('rect')
    .attr('width', size.width - 2)
    .attr('height', size.height - 2)
    .attr('rx', 2)
    .style('fill', cell.ok ? tone.accent : tone.bad)
    .attr('opacity', cell.ok ? 0.06 + 0.84 * Math.pow(strength, 1.3) : 1);
  const strong = !cell.ok || strength > 0.62;
  const words = !cell.ok && Number.isNaN(cell.share) ? 'wrong'
    : show === 'share'                               ? percent(cell.share)
                                                     : error(cell.error);
  write(group, (size.width - 2) / 2, (size.height - 2) / 2, fit(words, size.width, 11), {
    anchor: 'middle',
    size: 11,
    weight: cell.ok ? 400 : 700,
    fill: strong ? tone.surface : tone.ink
  });
}

function drawColumnHeads(parent, panel, step, height) {
  let from = 0;
  panel.columns.forEach((column, i) => {
    const last = i + 1 === panel.columns.length || panel.columns[i + 1].dtype !== column.dtype;
    groupAt(parent, (i + 0.5) * step, -9)
      .append('g')
      .attr('transform', step < 62 ? 'rotate(-38)' : null)
      .call(head => write(head, 0, 0, column.gate,
              {size: 11, fill: tone.muted, anchor: step < 62 ? 'start' : 'middle'}));
    if (!last) return;
    const middle = (from + i + 1) * step / 2;
    write(parent, middle, height + 12, dtype(column.dtype),
      {size: 11.5, weight: 600, anchor: 'middle'});
    parent.append('path')
      .attr('d', `M${from * step + 3},${height + 1}H${(i + 1) * step - 4}`)
      .style('stroke', tone.muted);
    from = i + 1;
  });
}

function stepOf(panel, width) {
  return Math.max(34, Math.min(66, (width - namesWidth - 30) / panel.columns.length));
}

function drawPanel(context, parent, panel, show) {
  const left = namesWidth;
  const step = stepOf(panel, context.width);
  const top = heading(parent, panel.name, 400) + (step < 62 ? 44 : 16);
  const line = 24;
  const plot = groupAt(parent, left, top);
  drawColumnHeads(plot, panel, step, panel.lines.length * line);
  panel.lines.forEach((of, i) => {
    const y = i * line;
    mark(context, plot, 8 - left, y + line / 2 - 1, of.row, null, {size: 50, reach: 0})
      .attr('class', 'key-mark');
    write(plot, 18 - left, y + line / 2 - 1, fit(of.variant, left - 26, 12),
      {size: 12, title: of.variant});
    of.cells.forEach((cell, j) => {
      if (cell) drawCell(context, plot, cell, {x: j * step, y, width: step, height: line}, show);
    });
  });
}

function sizeOf(panel, width) {
  const step = stepOf(panel, width);
  return {
    width: namesWidth + step * panel.columns.length + 28,
    height: 24 + (step < 62 ? 44 : 16) + panel.lines.length * 24 + 40
  };
}

/** Panels from left to right, and below where there is no room: [{x, y}] and the height of all. */
export function shelves(sizes, width) {
  const places = [];
  let [x, y, tallest] = [0, 0, 0];
  for (const size of sizes) {
    if (x > 0 && x + size.width > width) [x, y, tallest] = [0, y + tallest, 0];
    places.push({x, y});
    x += size.width;
    tallest = Math.max(tallest, size.height);
  }
  return {places, height: y + tallest};
}

export function draw(node, shown, context) {
  const {places, height} =
    shelves(shown.panels.map(panel => sizeOf(panel, context.width)), context.width);
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height,
    about: `${question} ${shown.panels.map(panel => panel.name).join('; ')}.`
  });
  shown.panels.forEach(
    (panel, i) => drawPanel(context, groupAt(svg, places[i].x, places[i].y), panel, shown.show));
  interactive(context, svg.selectAll('.cell'), {
    describe: cell => cell.row,
    say: cell =>
      `${cell.row.variant} ${dtype(cell.row.dtype)} ${cell.row.gate}: ${
        cell.ok ? '' : 'wrong, '}error ${error(cell.error)} of a bound of ${error(cell.bound)}, ` +
      `the worst of ${count(cell.rows, 'row')}, on ${nameOf(cell.row)}`
  });
}
