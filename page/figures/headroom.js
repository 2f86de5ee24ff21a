// How near the floor the best of ours comes, against how large the problem is.

import {scaleLinear, scaleLog} from 'd3';

import {pager, picker} from './choices.js';
import {contests, groupBy, keysOf} from './contest.js';
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
  tone
} from './frame.js';
import {columnsFor, pageOf} from './layout.js';
import {nameOf, tileName} from './problem.js';
import {count, linearTicks, logDomain, logTicks, percent, time, timeTick} from './units.js';

export const id = 'headroom';
export const title = 'Headroom';
/** The page leaves the figure out where there is nothing to show. */
export const optional = true;
export const question = 'How near the floor is the fastest of ours, and on which sizes is ' +
  'something left to gain?';

const perPage = 6;

const kinds = {
  floor: {
    label: 'the floor',
    axis: 'of floor',
    of: contest => contest.floorMs / contest.ranked[0].cold_ms,
    note:
      'Above 100 %: what is read again came out of the cache, or the device reads faster than ' +
      'it copies.'
  },
  ceiling: {
    label: 'the nearer ceiling',
    axis: 'of ceiling',
    of: ({ranked: [winner]}) => Math.max(winner.of_copy || 0, winner.of_peak || 0),
    note: 'The nearer ceiling: bytes moved over the copy rate, or operations over the measured ' +
      'matrix product, whichever is more.'
  }
};

function panelOf(list, kind) {
  const [first] = list;
  return {
    name: `${first.row.operator} ${first.row.direction}`,
    points: list
              .map(contest => ({
                row: contest.ranked[0],
                floorMs: contest.floorMs,
                contest,
                share: kinds[kind].of(contest)
              }))
              .filter(point => point.share > 0)
  };
}

/**
 * {panels: [{name, points: [{row, floorMs, share}]}], keys, axis}: each problem's winner; share is
 * the time of the floor over its time, or what it reaches of the ceiling that it is nearer to.
 */
export function model(rows, context) {
  const all = contests(rows).filter(contest => contest.ranked.length > 0 && contest.floorMs > 0);
  if (all.length === 0) {
    return {
      empty: rows.length === 0 ? 'No row passes the filters.'
                               : 'No problem here has both a right time and a floor.'
    };
  }
  if (all.length === 1) return {empty: 'One problem is left: its share stands with its winner.'};
  const known = all.some(contest => kinds.ceiling.of(contest) > 0);
  const kind = picker(context, 'of', 'Share of',
    Object.keys(kinds)
      .filter(value => value === 'floor' || known)
      .map(value => ({value, label: kinds[value].label})));
  const panels =
    Array
      .from(groupBy(all, contest => `${contest.row.operator} ${contest.row.direction}`).values(),
        list => panelOf(list, kind.value))
      .filter(panel => panel.points.length > 0);
  panels.sort((a, b) => b.points.length - a.points.length);
  const page = pageOf(panels, (context.chosen || {}).page, perPage);
  return {
    panels: page.items,
    keys: keysOf([].concat(...page.items.map(panel => panel.points.map(point => point.row)))),
    note: 'A mark is a problem, with its fastest variant. Across: how long its bytes alone would ' +
      `take; what takes microseconds there is held by latency. ${kinds[kind.value].note}`,
    axis: kinds[kind.value].axis,
    choices: [kind, pager(page.page, page.pages, count(panels.length, 'operator'))]
  };
}

function drawPanel(context, parent, panel, axis, size) {
  const top = heading(parent, panel.name, size.width) + 14;
  const left = 46;
  const inner = {width: size.width - left - 6, height: size.height - top - 42};
  const plot = groupAt(parent, left, top);
  const x = scaleLog().domain(logDomain(panel.points.map(point => point.floorMs), 1.5)).range([
    0, inner.width
  ]);
  const high =
    Math.max(1, panel.points.reduce((most, point) => Math.max(most, point.share), 0)) * 1.04;
  const y = scaleLinear().domain([0, high]).range([inner.height, 0]);
  axisBelow(plot, {
    scale: x,
    ticks: logTicks(x.domain()[0], x.domain()[1], 6),
    format: timeTick,
    label: 'time of the floor',
    width: inner.width,
    height: inner.height
  });
  axisLeft(
    plot, {scale: y, ticks: linearTicks(1, 4), format: percent, width: inner.width, label: axis});
  rule(plot, 0, y(1), inner.width, y(1), {stroke: tone.ink, width: 1.3, dash: '4 3'});
  for (const point of panel.points) {
    mark(context, plot, x(point.floorMs), y(point.share), point.row, point,
      {size: 46, opacity: 0.8, reach: 7});
  }
}

export function draw(node, shown, context) {
  const grid = columnsFor(shown.panels.length, context.width, 320, 28, 3);
  const height = 250;
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
                         panel, shown.axis, {width: grid.width, height: height - 8}));
  interactive(context, svg.selectAll('.mark').filter(datum => datum), {
    describe: point => point.row,
    say: point => `${nameOf(point.row)}: ${point.row.variant} ${time(point.row.cold_ms)}, ` +
      `${percent(point.share)} of the floor ${tileName(point.row.tile)}`
  });
}
