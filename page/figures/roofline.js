// The roofline: what each variant's fastest tile computes per second against what it computes per
// byte, under what the device was measured to copy and to multiply.

import {line as lineThrough, scaleLog} from 'd3';

import {pager, picker} from './choices.js';
import {contests, countsOf, groupBy, keysOf} from './contest.js';
import {
  axisBelow,
  axisLeft,
  groupAt,
  heading,
  interactive,
  keyLines,
  mark,
  resize,
  rule,
  svgOf,
  tone,
  write,
  writeNear
} from './frame.js';
import {columnsFor, pageOf, placeLabels} from './layout.js';
import {nameOf} from './problem.js';
import {count, digits, dtype, logDomain, logTicks, percent, rate as rateText, time}
  from './units.js';

export const id = 'roofline';
export const title = 'Roofline';
export const question = 'Is a variant held by memory, by the tensor cores, or by neither ' +
  '(latency)?';

const perPage = 6;
/** Problems of a panel: more than some thousand marks are a cloud, and slow. */
const mostProblems = 120;

/** The bytes of a row and where they come from; null where nobody knows. */
export function bytesOf(row) {
  if (row.measured_bytes > 0) return {bytes: row.measured_bytes, source: 'counted'};
  if (row.model_bytes > 0) return {bytes: row.model_bytes, source: 'modelled'};
  return null;
}

function pointOf(contest, row, winner) {
  const moved = bytesOf(row);
  if (!moved || !(row.flops > 0)) return null;
  const intensity = row.flops / moved.bytes;
  const rate = row.flops / (row.cold_ms * 1e9);
  const roof = Math.min(row.copy_gbs > 0 ? intensity * row.copy_gbs / 1e3 : Infinity,
    row.peak_tflops > 0 ? row.peak_tflops : Infinity);
  return {
    row,
    winner,
    intensity,
    rate,
    source: moved.source,
    contest,
    ofRoof: Number.isFinite(roof) ? rate / roof : null
  };
}

function largest(rows, name) {
  return rows.reduce((most, row) => Math.max(most, row[name] || 0), 0) || null;
}

function panelOf(problems) {
  const bySize = (a, b) => (b.floorBytes || 0) - (a.floorBytes || 0);
  const list = problems.length <= mostProblems ? problems
    : problems.slice().sort(bySize).slice(0, mostProblems);
  const points = list
                   .reduce((all, contest) => all.concat(
                             contest.ranked.map((row, i) => pointOf(contest, row, i === 0))),
                     [])
                   .filter(Boolean);
  const rows = points.map(point => point.row);
  const [first] = list;
  const copy = largest(rows, 'copy_gbs');
  const peak = largest(rows, 'peak_tflops');
  return {
    name: `${first.row.operator} ${first.row.direction} ${dtype(first.row.dtype)}`,
    dtype: first.row.dtype,
    points,
    problems: problems.length,
    left: problems.length - list.length,
    copyGbs: copy,
    peakTflops: peak,
    ridge: copy && peak ? peak * 1e3 / copy : null,
    held: countsOf(
      points.filter(point => point.winner && point.row.bound_by), point => point.row.bound_by)
  };
}

/**
 * {panels: [{name, points: [{row, winner, intensity, rate, source, ofRoof}], copyGbs, peakTflops,
 * ridge}]}: a panel for each operator, direction and dtype; intensity in FLOP/byte, rate in
 * TFLOP/s, ridge the intensity at which the two roofs meet.
 */
export function model(rows, context) {
  const which = picker(context, 'which', 'Show', [
    {value: 'best', label: 'each variant\'s fastest tile'},
    {value: 'winners', label: 'winners only'}
  ]);
  const fought = contests(rows).filter(contest => contest.ranked.length > 0);
  const groups = groupBy(
    fought, contest => `${contest.row.operator} ${contest.row.direction} ${contest.row.dtype}`);
  const panels = Array.from(groups.values(), panelOf).filter(panel => panel.points.length > 0);
  if (panels.length === 0) {
    return {
      empty: rows.length === 0
        ? 'No row passes the filters.'
        : 'No timed row here has both its arithmetic and its bytes, which a roofline needs.'
    };
  }
  if (which.value === 'winners') {
    for (const panel of panels) panel.points = panel.points.filter(point => point.winner);
  }
  panels.sort((a, b) => b.points.length - a.points.length);
  const page = pageOf(panels, (context.chosen || {}).page, perPage);
  const left = page.items.reduce((sum, panel) => sum + panel.left, 0);
  const other = page.items.some(panel => panel.dtype === 'float32');
  return {
    panels: page.items,
    keys: keysOf([].concat(...page.items.map(panel => panel.points.map(point => point.row)))),
    note: 'Full marks win their problem. Bytes are counted ones where there are any, else the ' +
      'variant\'s model; operations are the variant\'s own count, which knows nothing of what it ' +
      'skips. Well below both roofs a kernel waits: latency. ' +
      `The roofs are measured: a copy, and a bfloat16 product of large matrices${
        other ? ', which float32 without tensor cores does not reach' : ''}.${
        left ? ` The ${mostProblems} largest problems of a panel, ${left} are left out.` : ''}`,
    choices: [which, pager(page.page, page.pages, count(panels.length, 'panel'))]
  };
}

function drawRoofs(plot, panel, x, y, size) {
  const [low, high] = x.domain();
  const [bottom, top] = y.domain();
  const roof = intensity => Math.min(
    panel.copyGbs ? intensity * panel.copyGbs / 1e3 : Infinity, panel.peakTflops || Infinity);
  const from = panel.copyGbs ? Math.max(low, bottom * 1e3 / panel.copyGbs) : low;
  const knots = [from]
                  .concat(panel.ridge > from && panel.ridge < high ? [panel.ridge] : [], [high])
                  .filter(at => Number.isFinite(roof(at)));
  if (knots.length < 2) return;
  const roofs = lineThrough().x(at => x(at)).y(at => y(Math.min(top, roof(at))));
  plot.append('path')
    .attr('d', roofs(knots))
    .attr('fill', 'none')
    .attr('stroke-width', 2.5)
    .attr('opacity', 0.6)
    .style('stroke', tone.muted);
  if (panel.peakTflops && (!panel.ridge || panel.ridge < high)) {
    write(plot, size.width - 4, y(panel.peakTflops) - 9,
      `${rateText(panel.peakTflops)} TFLOP/s${panel.dtype === 'float32' ? ' in bf16' : ''}`,
      {anchor: 'end', size: 11, fill: tone.muted, halo: true});
  }
  if (panel.copyGbs) {
    const slope =
      Math.atan2(y(roof(from * 2)) - y(roof(from)), x(from * 2) - x(from)) * 180 / Math.PI;
    const at = from * 1.25;
    write(groupAt(plot, x(at), y(roof(at)))
            .append('g')
            .attr('transform', `rotate(${slope.toFixed(1)})`),
      6, -9, `${digits(panel.copyGbs / 1e3)} TB/s`, {size: 11, fill: tone.muted, halo: true});
  }
  if (panel.ridge > low && panel.ridge < high) {
    rule(plot, x(panel.ridge), 0, x(panel.ridge), size.height, {stroke: tone.muted, dash: '1 4'});
    write(plot, x(panel.ridge) - 6, size.height - 9, 'memory',
      {anchor: 'end', size: 11, fill: tone.muted, halo: true});
    write(plot, x(panel.ridge) + 6, size.height - 9,
      panel.dtype === 'float32' ? 'arithmetic' : 'tensor cores',
      {size: 11, fill: tone.muted, halo: true});
  }
}

function topOfEach(panel) {
  return Array.from(groupBy(panel.points, point => point.row.variant).values(),
    points => points.reduce((best, point) => (point.rate > best.rate ? point : best)));
}

/** Each variant by its name at its fastest rate, clear of the other marks where that can be. */
function nameTops(plot, panel, x, y, size) {
  const at = point => ({x: x(point.intensity), y: y(point.rate), text: point.row.variant});
  const marks = panel.points.map(at).map(one => [one.x - 6, one.y - 5, one.x + 6, one.y + 5]);
  const tops = topOfEach(panel).sort((a, b) => b.rate - a.rate).map(at);
  writeNear(plot, tops, placeLabels(tops, marks, size, 11.5), {size: 11.5, weight: 600});
}

function drawPanel(context, parent, panel, size) {
  const head = heading(parent, panel.name, size.width);
  const held = panel.held.map(([by, number]) => `${number} by ${by}`).join(', ');
  if (held) write(parent, 0, head + 6, `winners held up: ${held}`, {size: 11.5, fill: tone.muted});
  const top = head + (held ? 34 : 16);
  const left = 52;
  const inner = {width: size.width - left - 12, height: size.height - top - 42};
  const plot = groupAt(parent, left, top);
  const wide = logDomain(panel.points.map(point => point.intensity), 2);
  const x =
    scaleLog().domain([wide[0], Math.max(wide[1], (panel.ridge || 0) * 6)]).range([0, inner.width]);
  const rates = logDomain(panel.points.map(point => point.rate), 1.8);
  const y = scaleLog().domain([rates[0], Math.max(rates[1], (panel.peakTflops || 0) * 1.6)]).range([
    inner.height, 0
  ]);
  axisBelow(plot, {
    scale: x,
    ticks: logTicks(x.domain()[0], x.domain()[1], 7),
    format: digits,
    label: 'FLOP per byte moved',
    width: inner.width,
    height: inner.height
  });
  axisLeft(plot, {
    scale: y,
    ticks: logTicks(y.domain()[0], y.domain()[1], 7),
    width: inner.width,
    format: digits,
    label: 'TFLOP/s'
  });
  drawRoofs(plot, panel, x, y, inner);
  const few = panel.points.length < 60;
  for (const point of panel.points.slice().sort((a, b) => a.winner - b.winner)) {
    mark(context, plot, x(point.intensity), y(point.rate), point.row, point,
      {size: few ? 60 : 38, opacity: point.winner ? 0.95 : 0.38, reach: few ? 9 : 5});
  }
  nameTops(plot, panel, x, y, inner);
}

function linesOf(point) {
  return `${nameOf(point.row)}: ${point.row.variant} ${time(point.row.cold_ms)}, ` +
    `${rateText(point.rate)} TFLOP/s at ${digits(point.intensity)} FLOP per byte` +
    `${point.ofRoof === null ? '' : `, ${percent(point.ofRoof)} of the roof`}${
      point.row.bound_by ? `, bound by ${point.row.bound_by}` : ''}`;
}

export function draw(node, shown, context) {
  const grid = columnsFor(shown.panels.length, context.width, 430, 28, 3);
  const height = shown.panels.length === 1 ? 430 : 350;
  const lines = Math.ceil(shown.panels.length / grid.columns);
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height: 100,
    about: `${question} ${shown.panels.map(panel => panel.name).join('; ')}.`
  });
  const top = keyLines(context, svg, shown.keys, context.width) + 12;
  resize(svg, context.width, top + lines * height);
  shown.panels.forEach((panel, i) => drawPanel(context,
                         groupAt(svg, (i % grid.columns) * (grid.width + 28),
                           top + Math.floor(i / grid.columns) * height),
                         panel, {width: grid.width, height: height - 12}));
  interactive(context, svg.selectAll('.mark'), {describe: point => point.row, say: linesOf});
}
