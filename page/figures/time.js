// Time against length, a panel for each family of problems that differ in nothing else.

import {line as lineThrough, scaleLog} from 'd3';

import {pager, picker} from './choices.js';
import {contests, groupBy, variantsOf} from './contest.js';
import {
  axisBelow,
  axisLeft,
  endLabels,
  groupAt,
  heading,
  interactive,
  mark,
  rule,
  svgOf,
  tone,
  write
} from './frame.js';
import {columnsFor, pageOf} from './layout.js';
import {familyKey, lengthOf, namesOf, tileName} from './problem.js';
import {
  count,
  extent,
  extentTicks,
  factor,
  factorTick,
  logDomain,
  logTicks,
  time,
  timeTick
} from './units.js';

export const id = 'time';
export const title = 'Time against length';
export const question = 'How does each variant grow with the length, and where do they cross?';

const perPage = 6;
/** Lengths of a panel that have marks of their own; a line goes through all. */
const mostMarks = 64;

/** Lengths within half an octave of each other show no growth. */
function isSeries(lengths) {
  return lengths.length > 0 && lengths[lengths.length - 1] >= 1.5 * lengths[0];
}

function pointOf(contest, row, relative) {
  const unit = relative ? contest.floorMs : 1;
  const at = value => (value > 0 && unit > 0 ? value / unit : null);
  return {
    row,
    contest,
    length: lengthOf(row).value,
    value: at(row.cold_ms),
    low: at(row.cold_low),
    high: at(row.cold_high),
    floorMs: contest.floorMs
  };
}

function panelOf(family, relative) {
  const best =
    family
      .reduce((all, contest) => all.concat(
                contest.ranked.concat(contest.peers).map(row => pointOf(contest, row, relative))),
        [])
      .filter(point => point.value > 0);
  const lines = Array.from(groupBy(best, point => point.row.variant), ([variant, points]) => ({
    variant,
    peer: Boolean(points[0].row.peer),
    points: points.sort((a, b) => a.length - b.length)
  }));
  lines.sort((a, b) => a.peer - b.peer || b.points.length - a.points.length ||
      (a.variant < b.variant ? -1 : 1));
  const floor = Array
                  .from(new Map(family.filter(contest => contest.floorMs > 0)
                                  .map(contest => [lengthOf(contest.row).value, contest.floorMs])))
                  .map(([length, ms]) => ({length, value: relative ? 1 : ms}))
                  .sort((a, b) => a.length - b.length);
  const lengths = new Set(best.map(point => point.length));
  return {row: family[0].row, lines, floor, lengths: Array.from(lengths).sort((a, b) => a - b)};
}

/**
 * {panels: [{row, name, lengths, floor: [{length, value}], lines: [{variant, peer, points:
 * [{row, length, value, low, high}]}]}], common, relative}: value is milliseconds, or times the
 * floor. A family with one length only is no series and is left out.
 */
export function model(rows, context) {
  const scale = picker(context, 'scale', 'Show',
    [{value: 'time', label: 'time'}, {value: 'floor', label: 'time over the floor'}]);
  const relative = scale.value === 'floor';
  const families = groupBy(
    contests(rows).filter(contest => lengthOf(contest.row)), contest => familyKey(contest.row));
  const panels = Array.from(families.values(), family => panelOf(family, relative))
                   .filter(panel => isSeries(panel.lengths));
  const worth = panel =>
    panel.lengths.length * panel.lines.reduce((sum, line) => sum + (line.points.length > 1), 0);
  panels.sort((a, b) => worth(b) - worth(a));
  const problems =
    Array.from(families.values(), family => family.length).reduce((a, b) => a + b, 0);
  if (panels.length === 0) {
    return {
      empty: problems === 0
        ? 'No row here has a length and a time.'
        : 'No two problems here differ in their length alone, so that there is no series. ' +
          'Fewer filters on the shape may show one.'
    };
  }
  const shown = pageOf(panels, (context.chosen || {}).page, perPage);
  const names = namesOf(shown.items.map(panel => panel.row), ['seq', 'key_seq', 'columns']);
  shown.items.forEach((panel, i) => {
    panel.name = names.each[i] || names.common;
  });
  return {
    panels: shown.items,
    common: names.common,
    relative,
    variants: variantsOf(rows),
    note: `The fastest right tile of each variant at each length. ${
            relative ? 'Over' : 'The grey line is'} the floor: the bytes that any ` +
      'implementation has to move, at the measured copy rate. Whiskers: the interval of the ' +
      'median.',
    choices: [
      scale,
      pager(shown.page, shown.pages,
        `${count(panels.length, 'family', 'families')} with several lengths`)
    ]
  };
}

function wordsOf(point, relative) {
  const value = relative ? `${factor(point.value)} of the floor` : time(point.value);
  return `${point.row.variant}, ${lengthOf(point.row).name} ${point.length}: ${value} ${
    tileName(point.row.tile)}`;
}

/** The points of a line that have marks: where they would touch, every second, third, ... */
function markedOf(line, panel) {
  const every = Math.ceil(panel.lengths.length / mostMarks);
  return line.points.filter((point, i) => i % every === 0);
}

function drawLine(context, plot, line, marked, x, y) {
  const colour = context.colour(line.variant);
  const path = lineThrough().x(point => x(point.length)).y(point => y(point.value));
  plot.append('path')
    .attr('d', path(line.points))
    .attr('fill', 'none')
    .attr('stroke-width', 2)
    .style('stroke', colour)
    .attr('data-variant', line.variant)
    .attr('stroke-dasharray',
      line.peer        ? '6 4'
        : context.dash ? context.dash(line.variant)
                       : null);
  for (const point of marked) {
    if (point.low > 0 && point.high > 0) {
      plot.append('path')
        .attr('fill', 'none')
        .attr('stroke-width', 1)
        .style('stroke', colour)
        .attr('class', 'whisker')
        .attr('d',
          `M${x(point.length) - 3},${y(point.low)}h6M${x(point.length)},${y(point.low)}V${
            y(point.high)}m-3,0h6`);
    }
  }
}

function drawFloor(plot, panel, x, y, width) {
  const path = lineThrough().x(point => x(point.length)).y(point => y(point.value));
  plot.append('path')
    .attr('d', path(panel.floor))
    .attr('fill', 'none')
    .attr('stroke-width', 3)
    .attr('opacity', 0.55)
    .style('stroke', tone.muted);
  const last = panel.floor[panel.floor.length - 1];
  return last && x(last.length) <= width + 1
    ? [{x: x(last.length), y: y(last.value), text: 'floor', colour: tone.muted, fill: tone.muted}]
    : [];
}

function drawPanel(context, parent, panel, size, relative) {
  const top = heading(parent, panel.name, size.width) + 18;
  const left = 58;
  const room = Math.min(150, size.width * 0.3);
  const width = size.width - left - room;
  const height = size.height - top - 40;
  const plot = groupAt(parent, left, top);
  const values =
    panel.lines.reduce((all, line) => all.concat(line.points.map(point => point.value)), [])
      .concat(panel.floor.map(point => point.value));
  const x = scaleLog().domain(logDomain(panel.lengths, 1.15)).range([0, width]);
  const y = scaleLog().domain(logDomain(values, 1.4)).range([height, 0]);
  axisBelow(plot, {
    scale: x,
    ticks: extentTicks(panel.lengths, Math.max(2, Math.floor(width / 46))),
    format: extent,
    label: lengthOf(panel.row).name,
    width,
    height
  });
  axisLeft(plot, {
    scale: y,
    ticks: logTicks(y.domain()[0], y.domain()[1], 7),
    width,
    format: relative ? factorTick : timeTick,
    label: relative ? 'time over the floor' : 'time of a call, cold cache'
  });
  const labels = drawFloor(plot, panel, x, y, width);
  for (const line of panel.lines) {
    drawLine(context, plot, line, markedOf(line, panel), x, y);
    const last = line.points[line.points.length - 1];
    labels.push({
      x: x(last.length),
      y: y(last.value),
      text: line.variant,
      variant: line.variant,
      colour: context.colour(line.variant)
    });
  }
  for (const line of panel.lines) {
    for (const point of markedOf(line, panel)) {
      mark(context, plot, x(point.length), y(point.value), point.row, point);
    }
  }
  // A line that ends early is named there, not led across the others to the edge.
  const atEdge = label => label.x > width * 0.86;
  endLabels(plot, labels.filter(atEdge), {x: width + 10, low: 4, high: height, room: room - 12});
  for (const ends of groupBy(labels.filter(label => !atEdge(label)), label => label.x).values()) {
    endLabels(plot, ends, {x: ends[0].x + 14, low: 4, high: height, room: 120});
  }
  rule(plot, 0, 0, 0, height, {stroke: tone.muted});
}

export function draw(node, shown, context) {
  const grid = columnsFor(shown.panels.length, context.width, 430, 28, 3);
  const height = 330;
  const top = 26;
  const lines = Math.ceil(shown.panels.length / grid.columns);
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height: top + lines * height,
    about: `${question} ${shown.panels.map(panel => panel.name).join('; ')}.`
  });
  write(svg, 0, 8, shown.common, {size: 12.5, weight: 600});
  shown.panels.forEach((panel, i) => {
    const place = groupAt(
      svg, (i % grid.columns) * (grid.width + 28), top + Math.floor(i / grid.columns) * height);
    drawPanel(context, place, panel, {width: grid.width, height: height - 12}, shown.relative);
  });
  interactive(context, svg.selectAll('.mark'),
    {describe: point => point.row, say: point => wordsOf(point, shown.relative)});
}
