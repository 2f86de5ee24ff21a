// Lines over the length, a panel for each family of problems: what figures of series draw with.

import {line as lineThrough, scaleLog} from 'd3';

import {groupBy} from './contest.js';
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
import {columnsFor} from './layout.js';
import {lengthOf, tileName} from './problem.js';
import {
  extent,
  extentTicks,
  factor,
  factorTick,
  logDomain,
  logTicks,
  time,
  timeTick
} from './units.js';

/** Lengths of a panel that have marks of their own; a line goes through all. */
const mostMarks = 64;

/** Lengths within half an octave of each other show no growth. */
export function isSeries(lengths) {
  return lengths.length > 0 && lengths[lengths.length - 1] >= 1.5 * lengths[0];
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
      mark(context, plot, x(point.length), y(point.value), line, point);
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

/**
 * Draws panels of lines over the length: `shown` is {panels: [{row, name, lengths, floor:
 * [{length, value}], lines: [{variant, peer, points: [{row, length, value, low, high}]}]}], common,
 * relative}; `figure` is {id, title, question}. A line has the colour and the symbol of its
 * `variant`.
 */
export function drawPanels(node, shown, context, figure) {
  const grid = columnsFor(shown.panels.length, context.width, 430, 28, 3);
  const height = 330;
  const top = 26;
  const lines = Math.ceil(shown.panels.length / grid.columns);
  const svg = svgOf(context, node, {
    id: figure.id,
    title: figure.title,
    width: context.width,
    height: top + lines * height,
    about: `${figure.question} ${shown.panels.map(panel => panel.name).join('; ')}.`
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
