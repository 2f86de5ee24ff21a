// Bytes over the floor: what each variant's fastest tile moved, and what its model says.

import {scaleLinear} from 'd3';

import {pager, picker} from './choices.js';
import {contests} from './contest.js';
import {axisBelow, groupAt, heading, interactive, mark, rule, svgOf, tone, write} from './frame.js';
import {columnsFor, fit, pageOf} from './layout.js';
import {nameOf, namesOf} from './problem.js';
import {bytes, count, factor, factorTick, linearTicks} from './units.js';

export const id = 'bytes';
export const title = 'Bytes over the floor';
export const question = 'How much more than it has to does a variant read and write, and does ' +
  'its model know?';

const perPage = 6;
const widest = 8;      // floors: longer bars are cut there, and say so
const doubtful = 0.1;  // of counted over modelled bytes

function barOf(row, floor) {
  const over = value => (value > 0 ? value / floor : null);
  const measured = over(row.measured_bytes);
  const modelled = over(row.model_bytes);
  return {
    row,
    measured,
    modelled,
    doubtful: measured !== null && modelled !== null && Math.abs(measured / modelled - 1) > doubtful
  };
}

function panelOf(contest) {
  const bars = contest.ranked.map(row => barOf(row, contest.floorBytes))
                 .filter(bar => bar.measured !== null || bar.modelled !== null);
  const most =
    bars.reduce((high, bar) => Math.max(high, bar.measured || 0, bar.modelled || 0), 1.25);
  return {
    key: contest.key,
    row: contest.row,
    bars,
    floorBytes: contest.floorBytes,
    high: Math.min(most * 1.3, widest),
    counted: bars.some(bar => bar.measured !== null)
  };
}

/**
 * {panels: [{row, name, floorBytes, high, bars: [{row, measured, modelled, doubtful}]}]}: bytes in
 * multiples of the problem's floor, null where not known; bars in the order of their times.
 */
export function model(rows, context) {
  const all = contests(
    rows).filter(contest => contest.floorBytes > 0)
                .map(panelOf)
                .filter(panel => panel.bars.length > 0);
  if (all.length === 0) {
    return {
      empty: rows.length === 0 ? 'No row passes the filters.'
                               : 'No timed row here has counted or modelled bytes.'
    };
  }
  const order = picker(context, 'order', 'Order', [
    {value: 'largest', label: 'largest problems first'},
    {value: 'doubtful', label: 'counts that differ from the model first'}
  ]);
  const worst = panel =>
    panel.bars.reduce((high, bar) => Math.max(
                        high, bar.doubtful ? Math.abs(Math.log(bar.measured / bar.modelled)) : 0),
      0);
  all.sort(
    (a, b) => (order.value === 'doubtful' ? worst(b) - worst(a)
                                          : b.counted - a.counted || b.floorBytes - a.floorBytes));
  const page = pageOf(all, (context.chosen || {}).page, perPage);
  const names = namesOf(page.items.map(panel => panel.row));
  page.items.forEach((panel, i) => {
    panel.name = names.each[i] || names.common;
  });
  return {
    panels: page.items,
    common: names.common,
    note: 'Bars: bytes that the device counted, read and written. Ticks across them: the ' +
      'variant\'s model; a hollow bar where only the model is known. "!": the two are more than ' +
      'a tenth apart. ' +
      'Fastest variant first. On problems of a few MB the device\'s own 20 to 100 kB show.',
    choices: [order, pager(page.page, page.pages, count(all.length, 'problem'))]
  };
}

function drawBar(context, place, bar, x, size) {
  const colour = context.colour(bar.row.variant);
  const value = bar.measured === null ? bar.modelled : bar.measured;
  const most = x.domain()[1];
  const group = groupAt(place, 0, 0).attr('class', 'bar').datum(bar);
  group.append('rect')
    .attr('y', -9)
    .attr('width', size.width)
    .attr('height', 18)
    .style('fill', 'transparent');
  group.append('rect')
    .attr('y', -7)
    .attr('width', Math.max(1, x(Math.min(value, most))))
    .attr('height', 14)
    .attr('rx', 1.5)
    .style('fill', bar.measured === null ? tone.surface : colour)
    .style('stroke', colour)
    .attr('stroke-width', 1.2)
    .attr('stroke-dasharray', bar.measured === null ? '3 2' : null);
  if (bar.measured !== null && bar.modelled !== null && bar.modelled <= most) {
    group.append('rect')
      .attr('x', x(bar.modelled) - 1.5)
      .attr('y', -10)
      .attr('width', 3)
      .attr('height', 20)
      .style('fill', tone.ink)
      .style('stroke', tone.surface)
      .attr('stroke-width', 0.8);
  }
  const end = x(Math.min(most, Math.max(value, bar.modelled || 0)));
  const words = `${value > most ? '» ' : ''}${factor(value)}`;
  const inside = end + 64 > size.width;
  write(group, inside ? x(Math.min(value, most)) - 7 : end + 7, 0, words, {
    size: 11.5,
    weight: 600,
    anchor: inside ? 'end' : 'start',
    halo: !inside,
    fill: inside ? (context.dark ? '#0d1117' : '#ffffff') : tone.ink
  });
  if (bar.doubtful) {
    write(group, inside ? size.width + 4 : end + 52, 0, '!',
      {size: 12, weight: 700, fill: tone.warn, title: `the model says ${factor(bar.modelled)}`});
  }
}

function drawPanel(context, parent, panel, size) {
  const head = heading(parent, panel.name, size.width);
  write(parent, 0, head + 4, `floor ${bytes(panel.floorBytes)}`, {size: 11, fill: tone.muted});
  const left = Math.min(150, size.width * 0.36);
  const plot = groupAt(parent, left, head + 18);
  const width = size.width - left - 14;
  const height = panel.bars.length * 24 + 4;
  const x = scaleLinear().domain([0, panel.high]).range([0, width]);
  axisBelow(plot, {
    scale: x,
    ticks: linearTicks(panel.high, 4).filter(tick => tick <= panel.high),
    format: factorTick,
    width,
    height
  });
  panel.bars.forEach((bar, i) => {
    const y = 14 + i * 24;
    mark(context, plot, 6 - left, y, bar.row, null, {size: 50, reach: 0}).attr('class', 'key-mark');
    write(plot, 16 - left, y, fit(bar.row.variant, left - 22, 11.5),
      {size: 11.5, title: bar.row.variant});
    drawBar(context, groupAt(plot, 0, y), bar, x, {width});
  });
  rule(plot, x(1), -2, x(1), height, {stroke: tone.ink, width: 1.4, dash: '4 3'});
}

export function draw(node, shown, context) {
  const grid = columnsFor(shown.panels.length, context.width, 330, 32, 3);
  const heights = [];
  shown.panels.forEach((panel, i) => {
    const line = Math.floor(i / grid.columns);
    heights[line] = Math.max(heights[line] || 0, 96 + panel.bars.length * 24);
  });
  const top = shown.common ? 26 : 0;
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height: top + heights.reduce((a, b) => a + b, 0),
    about: `${question} ${shown.panels.map(panel => panel.name).join('; ')}.`
  });
  write(svg, 0, 8, shown.common, {size: 12.5, weight: 600});
  let y = top;
  shown.panels.forEach((panel, i) => {
    drawPanel(
      context, groupAt(svg, (i % grid.columns) * (grid.width + 32), y), panel, {width: grid.width});
    if (i % grid.columns === grid.columns - 1) y += heights[Math.floor(i / grid.columns)];
  });
  interactive(context, svg.selectAll('.bar'), {
    describe: bar => bar.row,
    say: bar => `${nameOf(bar.row)}: ${bar.row.variant} moves ${
      bar.measured === null
        ? `${factor(bar.modelled)} of the floor by its model`
        : `${factor(bar.measured)} of the floor${
            bar.modelled === null ? '' : `, modelled ${factor(bar.modelled)}`}`}`
  });
}
