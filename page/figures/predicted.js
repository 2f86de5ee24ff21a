// What a cost model predicted against what was measured, by variant.

import {scaleLog} from 'd3';

import {pager} from './choices.js';
import {groupBy, isTimed, keysOf} from './contest.js';
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
  write
} from './frame.js';
import {columnsFor, pageOf} from './layout.js';
import {nameOf, tileName} from './problem.js';
import {count, factorTick, logDomain, logTicks, percent, time, timeTick} from './units.js';

export const id = 'predicted';
export const title = 'Predicted against measured';
/** The page leaves the figure out where there is nothing to show. */
export const optional = true;
export const question = 'How far are the times that a cost model predicts from those that were ' +
  'measured, and for which variant?';

const perPage = 9;
const widest = 4;  // the axis shows predictions up to so many times too long or too short

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

function panelOf(rows) {
  const points = rows.map(row => ({row, over: row.predicted_ms / row.cold_ms}));
  const errors = points.map(point => Math.pow(2, Math.abs(Math.log2(point.over))) - 1)
                   .sort((a, b) => a - b);
  return {
    name: `${rows[0].variant}, ${rows[0].operator} ${rows[0].direction}`,
    points,
    median: quantile(errors, 0.5),
    most: quantile(errors, 0.9)
  };
}

/**
 * {panels: [{name, points: [{row, over}], median, most}], keys}: for each variant of an operator
 * its right rows with a prediction; `over` is predicted over measured, `median` and `most` are the
 * error that half and nine tenths of the predictions stay below.
 */
export function model(rows, context) {
  const known = rows.filter(row => row.predicted_ms > 0 && row.cold_ms > 0 && isTimed(row));
  if (known.length === 0) {
    return {
      empty: rows.length === 0 ? 'No row passes the filters.' : 'Nothing here was predicted.'
    };
  }
  const panels = Array.from(
    groupBy(known, row => `${row.variant} ${row.operator} ${row.direction}`).values(), panelOf);
  panels.sort((a, b) => b.points.length - a.points.length || (a.name < b.name ? -1 : 1));
  const page = pageOf(panels, (context.chosen || {}).page, perPage);
  return {
    panels: page.items,
    keys: keysOf([].concat(...page.items.map(panel => panel.points.map(point => point.row)))),
    note: 'A mark is a candidate. Across: its measured time. Up: the predicted time over it, so ' +
      'that above the line it was faster than predicted. ± is the error that half of the ' +
      'predictions stay below, and in brackets nine tenths.',
    choices: [pager(page.page, page.pages, count(panels.length, 'variant'))]
  };
}

function drawPanel(context, parent, panel, size) {
  const top = heading(parent, panel.name, size.width) + 18;
  const errors = `± ${percent(panel.median)} (${percent(panel.most)})`;
  write(parent, 0, top - 12, `${errors}, ${count(panel.points.length, 'candidate')}`,
    {size: 11.5, fill: tone.muted});
  const left = 46;
  const inner = {width: size.width - left - 6, height: size.height - top - 42};
  const plot = groupAt(parent, left, top);
  const x = scaleLog().domain(logDomain(panel.points.map(point => point.row.cold_ms), 1.5)).range([
    0, inner.width
  ]);
  const y = scaleLog().domain([1 / widest, widest]).range([inner.height, 0]).clamp(true);
  axisBelow(plot, {
    scale: x,
    ticks: logTicks(x.domain()[0], x.domain()[1], 6),
    format: timeTick,
    label: 'measured',
    width: inner.width,
    height: inner.height
  });
  axisLeft(plot, {
    scale: y,
    ticks: [0.25, 0.5, 1, 2, 4],
    format: factorTick,
    width: inner.width,
    label: 'predicted over measured'
  });
  rule(plot, 0, y(1), inner.width, y(1), {stroke: tone.ink, width: 1.3, dash: '4 3'});
  for (const point of panel.points) {
    mark(context, plot, x(point.row.cold_ms), y(point.over), point.row, point,
      {size: 30, opacity: 0.7, reach: 5});
  }
}

export function draw(node, shown, context) {
  const grid = columnsFor(shown.panels.length, context.width, 320, 28, 3);
  const height = 260;
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
                         panel, {width: grid.width, height: height - 8}));
  interactive(context, svg.selectAll('.mark').filter(datum => datum), {
    describe: point => point.row,
    say: point => `${nameOf(point.row)}: ${point.row.variant} ${tileName(point.row.tile)} ` +
      `predicted ${time(point.row.predicted_ms)}, measured ${time(point.row.cold_ms)}`
  });
}
