// The tile space of one variant on one problem: two axes as a map, and what each axis is worth.

import {scaleLog} from 'd3';

import {picker} from './choices.js';
import {contests, groupBy, mayWin} from './contest.js';
import {
  axisBelow,
  groupAt,
  hatch,
  heading,
  interactive,
  rule,
  svgOf,
  tone,
  write
} from './frame.js';
import {fit, spread} from './layout.js';
import {fullNamesOf, nameOf, problemKey, tileName} from './problem.js';
import {count, factor, factorTick, time} from './units.js';

export const id = 'tiles';
export const title = 'Tile space of a variant';
export const question = 'Which parameters decide a variant\'s time, and where is its best tile?';

const leastTiles = 4;

function byNumber(a, b) {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : 1;
}

/** The axes that take more than one value, with what the best tile at each value takes. */
export function axesOf(rows) {
  const timed = rows.filter(mayWin);
  const best = timed.reduce((low, row) => Math.min(low, row.cold_ms), Infinity);
  const names = new Set();
  for (const row of timed) {
    for (const axis of Object.keys(row.tile)) names.add(axis);
  }
  const axes =
    Array
      .from(names,
        axis => {
          const values =
            Array
              .from(groupBy(timed.filter(row => axis in row.tile), row => row.tile[axis]),
                ([value, list]) => {
                  const row = list.reduce((a, b) => (b.cold_ms < a.cold_ms ? b : a));
                  return {value, row, over: row.cold_ms / best, tiles: list.length};
                })
              .sort((a, b) => byNumber(a.value, b.value));
          const worst = values.reduce((high, one) => Math.max(high, one.over), 1);
          return {axis, values, worth: worst};
        })
      .filter(axis => axis.values.length > 1);
  return axes.sort((a, b) => b.worth - a.worth || (a.axis < b.axis ? -1 : 1));
}

function cellsOf(rows, x, y, best) {
  const place = row => `${row.tile[x]}|${y === null ? '' : row.tile[y]}`;
  const fits = rows.filter(row => row.tile && x in row.tile && (y === null || y in row.tile));
  return Array.from(groupBy(fits, place).values(), list => {
    const timed = list.filter(mayWin);
    const row = timed.length ? timed.reduce((a, b) => (b.cold_ms < a.cold_ms ? b : a)) : list[0];
    return {
      x: row.tile[x],
      y: y === null ? null : row.tile[y],
      row,
      tiles: timed.length,
      over: timed.length ? row.cold_ms / best : null,
      ms: timed.length ? row.cold_ms : null,
      why: timed.length ? null : row.reason || row.status
    };
  });
}

function valuesOf(cells, name) {
  return Array.from(new Set(cells.map(cell => cell[name]))).sort(byNumber);
}

/** What may be chosen: variant and problem with enough tiles, the most tiles first. */
function spacesOf(rows) {
  const ours = rows.filter(row => !row.peer && row.tile && typeof row.tile === 'object');
  const floors = new Map(contests(rows).map(contest => [contest.key, contest]));
  return Array
    .from(groupBy(ours, row => `${row.variant}\n${problemKey(row)}`).values(), list => ({
      variant: list[0].variant,
      key: problemKey(list[0]),
      rows: list,
      tiles: list.filter(mayWin).length,
      contest: floors.get(problemKey(list[0]))
    }))
    .filter(space => space.tiles >= leastTiles && axesOf(space.rows).length > 0)
    .sort((a, b) => b.tiles - a.tiles);
}

function axisPickers(context, axes) {
  const options = axes.map(axis => ({value: axis.axis, label: axis.axis}));
  const x = picker(context, 'x', 'across', options, axes[0].axis);
  const others = options.filter(option => option.value !== x.value);
  const preferred = axes.map(axis => axis.axis).find(axis => axis !== x.value);
  return {x, y: picker(context, 'y', 'down', others, preferred)};
}

/**
 * {name, variant, x, y, columns, lines, cells: [{x, y, row, ms, over, tiles, why}], axes: [{axis,
 * worth, values: [{value, over, row, tiles}]}], best}: `over` is the time of the best tile there,
 * the other axes being free, over that of the best of all; `why` says why a cell has no time.
 */
export function model(rows, context) {
  const spaces = spacesOf(rows);
  if (spaces.length === 0) {
    return {
      empty: rows.length === 0
        ? 'No row passes the filters.'
        : `No variant here was timed with ${leastTiles} tiles or more on one problem.`
    };
  }
  const variant = picker(context, 'variant', 'Variant',
    Array.from(new Set(spaces.map(space => space.variant)))
      .sort()
      .map(value => ({value, label: value})),
    spaces[0].variant);
  const its = spaces.filter(space => space.variant === variant.value);
  const names = fullNamesOf(its.map(one => one.rows[0]));
  const problem = picker(context, 'problem', 'Problem',
    its.map((one, i) => ({value: names[i], label: `${names[i]} (${count(one.tiles, 'tile')})`})),
    names[0]);
  const space = its[names.indexOf(problem.value)];
  const axes = axesOf(space.rows);
  const {x, y} = axisPickers(context, axes);
  const best = space.rows.filter(mayWin).reduce((a, b) => (b.cold_ms < a.cold_ms ? b : a));
  const cells = cellsOf(space.rows, x.value, y.value, best.cold_ms);
  return {
    name: `${variant.value} on ${nameOf(best)}`,
    variant: variant.value,
    x: x.value,
    y: y.value,
    columns: valuesOf(cells, 'x'),
    lines: valuesOf(cells, 'y'),
    cells,
    axes,
    best,
    tiles: space.tiles,
    note: `${count(space.tiles, 'timed tile')}. A cell is the best tile with these two values,
      all others free; the framed one holds the best of all. ` +
      'Hatched: refused or failed. Right: what is lost at the least where one parameter is ' +
      'held at a value.',
    choices: [variant, problem, x, y]
  };
}

function drawCell(parent, cell, box, shown, fill) {
  const group = groupAt(parent, box.x, box.y).attr('class', 'cell').datum(cell);
  const size = {width: box.width - 3, height: box.height - 3};
  if (cell.over === null) {
    group.append('rect')
      .attr('width', size.width)
      .attr('height', size.height)
      .attr('rx', 3)
      .style('fill', fill);
    return;
  }
  const strength = Math.max(0.06, Math.min(1, 1 - Math.log(cell.over) / Math.log(4)));
  group.append('rect')
    .attr('width', size.width)
    .attr('height', size.height)
    .attr('rx', 3)
    .style('fill', tone.accent)
    .attr('opacity', strength);
  const look = {anchor: 'middle', fill: strength > 0.55 ? tone.surface : tone.ink};
  if (box.width > 44) {
    write(group, size.width / 2, size.height / 2 - (box.height > 36 ? 7 : 0),
      fit(time(cell.ms), size.width, 11.5), Object.assign({size: 11.5, weight: 600}, look));
  }
  if (box.height > 36 && box.width > 44) {
    write(group, size.width / 2, size.height / 2 + 9, factor(cell.over),
      Object.assign({size: 10.5}, look));
  }
  if (cell.row === shown.best) {
    group.append('rect')
      .attr('x', 1)
      .attr('y', 1)
      .attr('width', size.width - 2)
      .attr('height', size.height - 2)
      .attr('rx', 3)
      .attr('fill', 'none')
      .attr('stroke-width', 2.5)
      .style('stroke', tone.ink);
  }
}

function drawMap(context, svg, parent, shown, width) {
  const left = shown.y === null ? 8 : 64;
  const step = Math.min(110, (width - left) / shown.columns.length);
  const down = Math.max(30, Math.min(52, 300 / shown.lines.length));
  const fill = hatch(context, svg, `${id}-hatch`, tone.faint);
  const plot = groupAt(parent, left, 46);
  write(plot, 0, -34, shown.x, {size: 11.5, weight: 600});
  shown.columns.forEach(
    (value, i) => write(plot, (i + 0.5) * step, -14, fit(String(value), step, 11.5),
      {size: 11.5, anchor: 'middle', fill: tone.muted}));
  if (shown.y !== null) {
    write(
      plot, -left, -14, fit(shown.y, left + 30, 11.5), {size: 11.5, weight: 600, title: shown.y});
    shown.lines.forEach((value, i) => write(plot, -10, (i + 0.5) * down, String(value),
                          {size: 11.5, anchor: 'end', fill: tone.muted}));
  }
  for (const cell of shown.cells) {
    drawCell(plot, cell, {
      x: shown.columns.indexOf(cell.x) * step,
      y: shown.lines.indexOf(cell.y) * down,
      width: step,
      height: down
    },
      shown, fill);
  }
  return 46 + shown.lines.length * down;
}

function drawAxis(context, parent, axis, x, width) {
  write(parent, -12, 0, fit(axis.axis, 100, 11.5), {size: 11.5, anchor: 'end', title: axis.axis});
  rule(parent, 0, 0, width, 0);
  const places = spread(axis.values.map(one => x(one.over)), 20, 0, width + 10);
  axis.values.forEach((one, i) => {
    const group = groupAt(parent, x(one.over), 0).attr('class', 'value').datum(one);
    group.append('circle').attr('r', 9).style('fill', 'transparent');
    group.append('circle')
      .attr('r', one.over === 1 ? 5 : 4)
      .style('fill', one.over === 1 ? tone.accent : tone.surface)
      .style('stroke', tone.accent)
      .attr('stroke-width', 1.6);
    write(parent, places[i], -12, String(one.value),
      {size: 10.5, anchor: 'middle', fill: tone.muted, halo: true});
  });
}

function drawWorth(context, parent, shown, width) {
  const left = 112;
  const step = 34;
  const plot = groupAt(parent, left, 46);
  const most = Math.max(1.2, shown.axes[0].worth * 1.05);
  const x = scaleLog().domain([1, most]).range([0, width - left - 24]);
  const height = shown.axes.length * step;
  const ticks = [1, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100].filter(tick => tick <= most);
  axisBelow(plot, {
    scale: x,
    ticks,
    format: factorTick,
    label: 'best time at this value over the best of all',
    width: width - left - 24,
    height
  });
  shown.axes.forEach((axis, i) => drawAxis(
                       context, groupAt(plot, 0, (i + 0.65) * step), axis, x, width - left - 24));
  return 46 + height + 44;
}

export function draw(node, shown, context) {
  const wide = context.width >= 860;
  const half = wide ? context.width * 0.54 : context.width;
  const mapHeight =
    30 + 46 + shown.lines.length * Math.max(30, Math.min(52, 300 / shown.lines.length)) + 20;
  const worthHeight = 30 + 46 + shown.axes.length * 34 + 50;
  const height = wide ? Math.max(mapHeight, worthHeight) : mapHeight + worthHeight;
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height,
    about: `${question} ${shown.name}: best ${tileName(shown.best.tile)} at ` +
      `${time(shown.best.cold_ms)}.`
  });
  heading(svg, `${shown.name}: best ${time(shown.best.cold_ms)} at ${tileName(shown.best.tile)}`,
    context.width);
  drawMap(context, svg, groupAt(svg, 0, 26), shown, half - 20);
  const worth = wide ? groupAt(svg, half, 10) : groupAt(svg, 0, mapHeight);
  drawWorth(context, worth, shown, context.width - (wide ? half : 0));
  interactive(context, svg.selectAll('.cell, .value'), {
    describe: one => one.row,
    say: one => `${tileName(one.row.tile)}: ${
      one.over === null ? one.why : `${time(one.row.cold_ms)}, ${factor(one.over)} of the best`}`
  });
}
