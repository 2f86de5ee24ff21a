// Where the time of a call goes, for operators that are timed stage by stage.

import {pager} from './choices.js';
import {contests} from './contest.js';
import {groupAt, heading, interactive, mark, svgOf, tone, write} from './frame.js';
import {columnsFor, fit, pageOf, textWidth} from './layout.js';
import {nameOf, namesOf} from './problem.js';
import {bytes, count, percent, time} from './units.js';

export const id = 'stages';
export const title = 'Where the time goes';
export const question = 'Which stage of a call is worth working on?';
/** The page leaves the figure out where there is nothing to show. */
export const optional = true;

const perPage = 6;

function barOf(row) {
  const total = row.stages.reduce((sum, stage) => sum + stage.ms, 0);
  let from = 0;
  const parts = row.stages.map((stage, i) => {
    const part = {row, stage, from, to: from + stage.ms, share: stage.ms / total, order: i};
    from += stage.ms;
    return part;
  });
  return {row, total, parts};
}

/**
 * {panels: [{row, name, high, bars: [{row, total, parts: [{stage, from, to, share}]}]}], common}:
 * the fastest tile of each variant, stages in milliseconds one behind the other; `high` is the
 * longest sum of a panel.
 */
export function model(rows, context) {
  const panels =
    contests(rows)
      .map(contest => ({
        row: contest.row,
        floorBytes: contest.floorBytes || 0,
        bars: contest.ranked.filter(row => row.stages && row.stages.length > 1).map(barOf)
      }))
      .filter(panel => panel.bars.length > 0)
      .sort((a, b) => b.floorBytes - a.floorBytes);
  if (panels.length === 0) return {empty: 'No candidate here was timed stage by stage.'};
  const page = pageOf(panels, (context.chosen || {}).page, perPage);
  const names = namesOf(page.items.map(panel => panel.row));
  page.items.forEach((panel, i) => {
    panel.name = names.each[i] || names.common;
    panel.high = panel.bars.reduce((most, bar) => Math.max(most, bar.total), 0);
  });
  return {
    panels: page.items,
    common: names.common,
    note: 'Stages are timed one by one, so that their sum may differ from the time of the whole ' +
      'call.',
    choices: [pager(page.page, page.pages, count(panels.length, 'problem'))]
  };
}

function drawPart(context, parent, part, scale) {
  const x = part.from * scale;
  const width = Math.max(1, (part.to - part.from) * scale - 1.5);
  const strength = Math.max(0.28, 1 - 0.2 * part.order);
  const group = groupAt(parent, x, 0).attr('class', 'part').datum(part);
  group.append('rect')
    .attr('width', width)
    .attr('height', 22)
    .attr('rx', 2)
    .style('fill', context.colour(part.row.variant))
    .attr('opacity', strength);
  const words = [`${part.stage.name} ${percent(part.share)}`, part.stage.name].find(
    text => textWidth(text, 11) + 8 < width);
  const bright = context.dark ? '#0d1117' : '#ffffff';
  if (words) write(group, 5, 11, words, {size: 11, fill: strength > 0.55 ? bright : tone.ink});
}

function drawPanel(context, parent, panel, size) {
  const top = heading(parent, panel.name, size.width) + 4;
  const left = 96;
  const scale = (size.width - left - 64) / panel.high;
  panel.bars.forEach((bar, i) => {
    const place = groupAt(parent, left, top + i * 30);
    mark(context, place, 8 - left, 11, bar.row, null, {size: 50, reach: 0})
      .attr('class', 'key-mark');
    write(place, 18 - left, 11, fit(bar.row.variant, left - 24, 11.5),
      {size: 11.5, title: bar.row.variant});
    for (const part of bar.parts) drawPart(context, place, part, scale);
    write(place, bar.total * scale + 5, 11, time(bar.total), {size: 11.5, weight: 600});
  });
}

export function draw(node, shown, context) {
  const grid = columnsFor(shown.panels.length, context.width, 560, 32, 2);
  const height =
    shown.panels.reduce((most, panel) => Math.max(most, panel.bars.length), 0) * 30 + 46;
  const lines = Math.ceil(shown.panels.length / grid.columns);
  const top = 26;
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height: top + lines * height,
    about: `${question} ${shown.panels.map(panel => panel.name).join('; ')}.`
  });
  write(svg, 0, 8, shown.common, {size: 12.5, weight: 600});
  shown.panels.forEach((panel, i) => drawPanel(context,
                         groupAt(svg, (i % grid.columns) * (grid.width + 32),
                           top + Math.floor(i / grid.columns) * height),
                         panel, {width: grid.width}));
  interactive(context, svg.selectAll('.part'), {
    describe: part => ({
      title: `${part.row.variant}: ${part.stage.name}`,
      lines: [
        ['time', time(part.stage.ms)], ['of the stages', percent(part.share)],
        ['modelled bytes', part.stage.bytes > 0 ? bytes(part.stage.bytes) : '–']
      ],
      row: part.row
    }),
    say: part => `${nameOf(part.row)}: ${part.row.variant} ${part.stage.name} ` +
      `${time(part.stage.ms)}, ${percent(part.share)}`
  });
}
