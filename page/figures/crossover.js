// The cross-over map: which variant wins over length and batch times heads.

import {pager} from './choices.js';
import {contests, groupBy, keysOf, overFirst, runnerUp} from './contest.js';
import {
  groupAt,
  heading,
  interactive,
  keyLines,
  resize,
  svgOf,
  symbolPath,
  tone,
  write
} from './frame.js';
import {columnsFor, pageOf, textWidth} from './layout.js';
import {lengthOf, mapKey, nameOf, namesOf, widthOf} from './problem.js';
import {count, extent, factor, time} from './units.js';

export const id = 'crossover';
export const title = 'Cross-over map';
export const question = 'From which length, and with how much parallel work, does another ' +
  'variant win?';

const perPage = 6;

function placeOf(list) {
  const winners =
    Array.from(groupBy(list, contest => contest.ranked[0].variant).values(), same => same[0]);
  const [first] = winners;
  const next = runnerUp(first);
  return {
    length: lengthOf(first.row).value,
    width: widthOf(first.row).value,
    // Problems of one place are told apart only where they differ in the winner.
    winners: winners.map(contest => contest.ranked[0]),
    tied: winners.length === 1 ? first.tied : [],
    next,
    factor: next ? overFirst(first, next) : null,
    contests: list
  };
}

function panelOf(list) {
  const places = Array.from(
    groupBy(list, contest => `${lengthOf(contest.row).value}|${widthOf(contest.row).value}`)
      .values(),
    placeOf);
  const rising = name =>
    Array.from(new Set(places.map(place => place[name]))).sort((a, b) => a - b);
  return {
    row: list[0].row,
    places,
    lengths: rising('length'),
    widths: rising('width'),
    lengthName: lengthOf(list[0].row).name,
    widthName: widthOf(list[0].row).name,
    winners:
      new Set(places.reduce((all, place) => all.concat(place.winners.map(row => row.variant)), []))
  };
}

/**
 * {panels: [{name, lengths, widths, lengthName, widthName, places: [{length, width, winners, tied,
 * next, factor, contests}]}], common}: a map for each family of problems that differ in length and
 * batch times heads alone; `factor` is the next one's time over the winner's, `tied` who cannot
 * be told from it.
 */
export function model(rows, context) {
  const all = contests(rows).filter(
    contest => contest.ranked.length > 0 && lengthOf(contest.row) && widthOf(contest.row));
  const panels = Array.from(groupBy(all, contest => mapKey(contest.row)).values(), panelOf)
                   .filter(panel => panel.places.length >= 2);
  if (panels.length === 0) {
    return {
      empty: all.length === 0
        ? 'Nothing of ours here was both right and timed.'
        : 'No two problems here differ in length and batch times heads alone, so that there ' +
          'is no map. Fewer filters on the shape may show one.'
    };
  }
  panels.sort((a, b) => b.winners.size * b.places.length - a.winners.size * a.places.length);
  const page = pageOf(panels, (context.chosen || {}).page, perPage);
  const names = namesOf(page.items.map(panel => panel.row),
    ['batch', 'seq', 'heads', 'key_seq', 'key_heads', 'columns', 'sequences']);
  page.items.forEach((panel, i) => {
    panel.name = names.each[i] || names.common;
  });
  const places = [].concat(...page.items.map(panel => panel.places));
  return {
    panels: page.items,
    common: names.common,
    keys: keysOf([].concat(...places.map(place => place.winners.concat(place.tied)))),
    note: 'Colour and symbol: the winner. Number: the next one\'s time over the winner\'s; "≈": ' +
      'the two cannot be told apart. Two colours: tied, or problems of one place (batch and ' +
      'heads swapped) that differ. ' +
      'Empty: not measured.',
    choices: [pager(page.page, page.pages, count(panels.length, 'map'))]
  };
}

function drawCell(context, parent, place, box) {
  const group = groupAt(parent, box.x, box.y).attr('class', 'cell').datum(place);
  const size = {width: box.width - 2, height: box.height - 2};
  const rows = place.winners.concat(place.tied).slice(0, 3);
  rows.forEach((row, i) => {
    group.append('rect')
      .attr('x', i * size.width / rows.length)
      .attr('width', size.width / rows.length)
      .attr('height', size.height)
      .style('fill', context.colour(row.variant));
  });
  const fill = context.dark ? '#0d1117' : '#ffffff';
  const words = place.winners.length > 1 ? ''
    : place.tied.length                  ? '≈'
    : place.factor === null              ? ''
                                         : factor(place.factor);
  const beside = textWidth(words, 11) + 18 < size.width;
  const below = words && rows.length === 1 && !beside;
  rows.forEach((row, i) => {
    const x = rows.length > 1 ? (i + 0.5) * size.width / rows.length
      : beside && words       ? 11
                              : size.width / 2;
    groupAt(group, x, below ? 9 : size.height / 2)
      .append('path')
      .attr('d', symbolPath(context, row.variant, below ? 30 : 44))
      .style('fill', fill);
  });
  if (!words) return;
  const bold = {size: 11, weight: 600, fill};
  if (below) {
    write(group, size.width / 2, size.height - 9, words,
      Object.assign({}, bold, {size: 10.5, anchor: 'middle'}));
  } else if (rows.length === 1) {
    write(group, size.width - 5, size.height / 2, words, Object.assign({anchor: 'end'}, bold));
  } else {
    write(group, size.width / 2, size.height / 2, words, Object.assign({anchor: 'middle'}, bold));
  }
}

function drawPanel(context, parent, panel, size) {
  const top = heading(parent, panel.name, size.width) + 14;
  const left = 46;
  const step = Math.min(84, (size.width - left) / panel.lengths.length);
  const down = 32;
  const plot = groupAt(parent, left, top);
  write(plot, -left, -6, panel.widthName, {size: 11, fill: tone.muted});
  // More parallel work lies higher, as on an axis.
  const widths = panel.widths.slice().reverse();
  widths.forEach((value, i) => write(plot, -8, (i + 0.5) * down, extent(value),
                   {size: 11, anchor: 'end', fill: tone.muted}));
  panel.lengths.forEach((value, i) => write(plot, (i + 0.5) * step, widths.length * down + 10,
                          extent(value), {size: 11, anchor: 'middle', fill: tone.muted}));
  write(plot, panel.lengths.length * step, widths.length * down + 26, panel.lengthName,
    {size: 11, anchor: 'end', fill: tone.muted});
  for (let i = 0; i < panel.lengths.length; ++i) {
    for (let j = 0; j < widths.length; ++j) {
      plot.append('rect')
        .attr('x', i * step)
        .attr('y', j * down)
        .attr('width', step - 2)
        .attr('height', down - 2)
        .style('fill', tone.faint)
        .attr('opacity', 0.35);
    }
  }
  for (const place of panel.places) {
    drawCell(context, plot, place, {
      x: panel.lengths.indexOf(place.length) * step,
      y: widths.indexOf(place.width) * down,
      width: step,
      height: down
    });
  }
}

function linesOf(place) {
  return place.contests
    .reduce((all, contest) =>
              all.concat(contest.ranked.slice(0, 4).map(row => [row.variant, time(row.cold_ms)])),
      [])
    .slice(0, 8);
}

export function draw(node, shown, context) {
  const grid = columnsFor(shown.panels.length, context.width, 430, 36, 3);
  const heights = [];
  shown.panels.forEach((panel, i) => {
    const line = Math.floor(i / grid.columns);
    heights[line] = Math.max(heights[line] || 0, 92 + panel.widths.length * 32);
  });
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height: 100,
    about: `${question} ${shown.panels.map(panel => panel.name).join('; ')}.`
  });
  write(svg, 0, 8, shown.common, {size: 12.5, weight: 600});
  let y = 24 + keyLines(context, groupAt(svg, 0, 22), shown.keys, context.width) + 12;
  shown.panels.forEach((panel, i) => {
    drawPanel(
      context, groupAt(svg, (i % grid.columns) * (grid.width + 36), y), panel, {width: grid.width});
    if (i % grid.columns === grid.columns - 1 || i + 1 === shown.panels.length) {
      y += heights[Math.floor(i / grid.columns)];
    }
  });
  resize(svg, context.width, y);
  interactive(context, svg.selectAll('.cell'), {
    describe: place => (place.contests.length === 1 && place.contests[0].ranked.length === 1
        ? place.winners[0]
        : {title: nameOf(place.winners[0]), lines: linesOf(place), row: place.winners[0]}),
    say: place =>
      `${nameOf(place.winners[0])}: ${place.winners.map(row => row.variant).join(' or ')}${
        place.tied.length ? `, tied with ${place.tied.map(row => row.variant).join(', ')}`
                          : ''}${place.factor === null ? '' : `, next ${factor(place.factor)}`}`
  });
}
