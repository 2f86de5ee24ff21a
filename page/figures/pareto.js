// What a variant costs on one problem: time against bytes, error, workspace and energy, and which
// candidates no other beats in all of them.

import {curveStepAfter, line as lineThrough, scaleLinear, scaleLog} from 'd3';

import {picker} from './choices.js';
import {contests, groupBy, isTimed} from './contest.js';
import {candidateOf, frontOf, measures} from './costs.js';
import {
  axisBelow,
  axisLeft,
  groupAt,
  heading,
  interactive,
  keyEntry,
  mark,
  svgOf,
  tone,
  write,
  writeNear
} from './frame.js';
import {columnsFor, fit, placeLabels} from './layout.js';
import {fullNamesOf, nameOf, tileName} from './problem.js';
import {
  bytes,
  count,
  dtype,
  linearTicks,
  logDomain,
  logTicks,
  percent,
  time,
  timeTick
} from './units.js';

export const id = 'pareto';
export const title = 'What it costs';
export const question = 'What does the fastest candidate pay in bytes, error, workspace and ' +
  'energy, and who pays less?';

const mostPerVariant = 150;  // dots that are drawn of a variant besides those on the front
const frontLines = 10;

/**
 * Of each variant the fastest ones, so that a search's thousands stay quick; the front stays
 * whole.
 */
function thinned(candidates, front) {
  const kept = new Set(front);
  for (const list of groupBy(candidates, one => one.row.variant).values()) {
    for (const one of list.slice().sort((a, b) => a.time - b.time).slice(0, mostPerVariant)) {
      kept.add(one);
    }
  }
  return candidates.filter(one => kept.has(one));
}

/** Which problems may be chosen: those on which there is something to choose from. */
function problemPicker(context, all) {
  const names = fullNamesOf(all.map(contest => contest.row));
  const options = all.map((contest, i) => ({
    value: names[i],
    label: names[i],
    group: `${contest.row.operator} ${contest.row.direction} ${dtype(contest.row.dtype)}`
  }));
  const worth = one => Math.min(4, one.ranked.length) * 1e15 + (one.floorBytes || 0);
  const richest = all.reduce((best, one, i) => (worth(one) > worth(all[best]) ? i : best), 0);
  const choice = picker(context, 'problem', 'Problem', options, names[richest]);
  return {choice, contest: all[names.indexOf(choice.value)]};
}

/**
 * {name, candidates: [{row, time, bytes, error, workspace, energy}], front, panels: [{measure,
 * label, points, line}], total}: of one problem. `front` holds for time, bytes, error and
 * workspace together; a panel's `line` is the front of time and that measure alone.
 */
export function model(rows, context) {
  const all = contests(rows).filter(contest => contest.ranked.length + contest.peers.length >= 2 ||
      contest.rows.filter(isTimed).length >= 2);
  if (all.length === 0) {
    return {
      empty: rows.length === 0 ? 'No row passes the filters.'
                               : 'No problem here has two timed candidates to choose between.'
    };
  }
  all.sort((a, b) => (a.row.operator < b.row.operator ? -1
               : a.row.operator > b.row.operator      ? 1
                                                      : (b.floorBytes || 0) - (a.floorBytes || 0)));
  const {choice, contest} = problemPicker(context, all);
  const candidates = contest.rows.filter(isTimed).map(candidateOf);
  const front =
    frontOf(candidates.filter(one => !one.row.peer), ['time', 'bytes', 'error', 'workspace']);
  const shown = thinned(candidates, front);
  const panels = Object.keys(measures)
                   .map(name => ({
                     measure: name,
                     label: measures[name].label,
                     points: shown.filter(one => Number.isFinite(one[name])),
                     line: frontOf(shown, ['time', name])
                   }))
                   .filter(panel => panel.points.length >= 2);
  return {
    name: nameOf(contest.row),
    candidates: shown,
    front,
    panels,
    total: candidates.length,
    floorMs: contest.floorMs,
    floorBytes: contest.floorBytes,
    note: `${
            count(candidates.length,
              'candidate')} of this problem; ringed: no other is as good in time, bytes,
      error and workspace together (1 % counts as alike). ` +
      'Down and left is better. The stepped line is the best of the two measures of its panel ' +
      'alone.',
    choices: [choice]
  };
}

/** A logarithmic scale with a place of its own for 0, which workspaces often are. */
function scaleFor(panel, height) {
  const values = panel.points.map(point => point[panel.measure]);
  if (measures[panel.measure].scale === 'linear') {
    const high = Math.max(1, values.reduce((a, b) => Math.max(a, b), 0)) * 1.06;
    const linear = scaleLinear().domain([0, high]).range([height, 0]);
    return {at: linear, ticks: linearTicks(Math.min(high, 1), 4).filter(tick => tick <= high)};
  }
  const zero = values.some(value => value === 0);
  const positive = logDomain(values, 1.25);
  const log = scaleLog().domain(positive).range([zero ? height - 32 : height, 0]);
  const ticks = values.some(value => value > 0) ? logTicks(positive[0], positive[1], 5) : [];
  const at = value => (value > 0 ? log(value) : height - 10);
  return {at, ticks: zero ? [0].concat(ticks) : ticks};
}

function drawSteps(plot, panel, x, y) {
  const steps = lineThrough()
                  .curve(curveStepAfter)
                  .x(point => x(point.time))
                  .y(point => y(point[panel.measure]));
  plot.append('path')
    .attr('d', steps(panel.line))
    .attr('fill', 'none')
    .attr('stroke-width', 1.5)
    .attr('opacity', 0.7)
    .style('stroke', tone.muted)
    .attr('stroke-dasharray', '1 3');
}

function nameFastest(plot, panel, front, x, y, size) {
  const best = Array.from(groupBy(panel.points, point => point.row.variant).values(),
    points => points.reduce((a, b) => (b.time < a.time ? b : a)));
  const points =
    best.map(point => ({x: x(point.time), y: y(point[panel.measure]), text: point.row.variant}));
  const near = new Set(best.concat(front));
  const marks = panel.points.map(point => {
    const [at, over, reach] = [x(point.time), y(point[panel.measure]), near.has(point) ? 9 : 4];
    return [at - reach, over - 0.8 * reach, at + reach, over + 0.8 * reach];
  });
  writeNear(plot, points, placeLabels(points, marks, size, 11), {size: 11});
}

function drawPanel(context, parent, panel, shown, size) {
  const top = heading(parent, panel.label, size.width) + 4;
  const left = 56;
  const inner = {width: size.width - left - 22, height: size.height - top - 42};
  const plot = groupAt(parent, left, top);
  const x = scaleLog().domain(logDomain(panel.points.map(point => point.time), 1.12)).range([
    0, inner.width
  ]);
  const y = scaleFor(panel, inner.height);
  const format = measures[panel.measure].format;
  axisBelow(plot, {
    scale: x,
    ticks: logTicks(x.domain()[0], x.domain()[1], 6),
    format: timeTick,
    label: 'time',
    width: inner.width,
    height: inner.height
  });
  axisLeft(plot, {
    scale: y.at,
    ticks: y.ticks,
    format: value => (value === 0 ? '0' : format(value)),
    width: inner.width
  });
  drawSteps(plot, panel, x, y.at);
  const front = new Set(shown.front);
  for (const point of panel.points.slice().sort((a, b) => front.has(a) - front.has(b))) {
    const on = front.has(point);
    const place = mark(context, plot, x(point.time), y.at(point[panel.measure]), point.row, point,
      {size: on ? 70 : 26, opacity: on || point.row.peer ? 1 : 0.35, reach: on ? 9 : 4});
    if (on) {
      place.append('circle')
        .attr('r', 8)
        .attr('fill', 'none')
        .attr('stroke-width', 1.3)
        .style('stroke', tone.ink);
    }
  }
  nameFastest(plot, panel, shown.front, x, y.at, inner);
}

function drawFront(context, parent, shown, width) {
  const wide = width >= 760;
  const from = wide ? 0.6 : 0.36;
  const columns = [
    {text: 'time', of: one => time(one.time)}, {text: 'bytes', of: one => bytes(one.bytes)},
    {text: 'error', of: one => percent(one.error)},
    {text: 'workspace', of: one => bytes(one.workspace)}
  ];
  const at = i => width * (from + (1 - from) * (i + 0.8) / columns.length);
  write(parent, 0, 6, `On the front: ${count(shown.front.length, 'candidate')}`,
    {size: 12.5, weight: 600});
  columns.forEach((column, i) => write(
                    parent, at(i), 6, column.text, {size: 11, fill: tone.muted, anchor: 'end'}));
  shown.front.slice(0, frontLines).forEach((one, line) => {
    const y = 28 + line * 20;
    const tile = tileName(one.row.tile);
    keyEntry(context, parent, 7, y, one.row,
      fit(one.row.variant, width * (wide ? 0.17 : from) - 16, 11.5), {title: tile});
    if (wide) {
      write(parent, width * 0.19, y, fit(tile, width * 0.42, 11),
        {size: 11, fill: tone.muted, title: tile});
    }
    columns.forEach(
      (column, i) => write(parent, at(i), y, column.of(one), {size: 11.5, anchor: 'end'}));
  });
}

export function draw(node, shown, context) {
  const grid = columnsFor(shown.panels.length, context.width, 380, 28, 2);
  const height = 300;
  const lines = Math.ceil(shown.panels.length / grid.columns);
  const list = shown.front.length ? 40 + Math.min(frontLines, shown.front.length) * 20 : 0;
  const top = 26;
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height: top + lines * height + list,
    about: `${question} ${shown.name}. On the front: ${
      shown.front.map(one => one.row.variant).join(', ')}.`
  });
  write(svg, 0, 8, shown.name, {size: 12.5, weight: 600});
  shown.panels.forEach((panel, i) => drawPanel(context,
                         groupAt(svg, (i % grid.columns) * (grid.width + 28),
                           top + Math.floor(i / grid.columns) * height),
                         panel, shown, {width: grid.width, height: height - 6}));
  if (list) drawFront(context, groupAt(svg, 0, top + lines * height + 10), shown, context.width);
  interactive(context, svg.selectAll('.mark').filter(datum => datum), {
    describe: one => one.row,
    say: one => `${one.row.variant} ${tileName(one.row.tile)}: ${time(one.time)}, ` +
      `${
        Object.keys(measures)
          .filter(name => Number.isFinite(one[name]))
          .map(name => `${measures[name].name} ${measures[name].format(one[name])}`)
          .join(', ')}`
  });
}
