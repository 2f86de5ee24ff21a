// Who wins on each problem, how far behind the others are, and how near the floor that is.

import {scaleLog} from 'd3';

import {pager, picker} from './choices.js';
import {contests, overFirst, runnerUp} from './contest.js';
import {axisBelow, groupAt, interactive, mark, rule, svgOf, tone, write} from './frame.js';
import {fit, pageOf} from './layout.js';
import {namesOf, tileName} from './problem.js';
import {count, factor, factorTick, percent, time} from './units.js';

export const id = 'wins';
export const title = 'Which variant wins, problem by problem';
export const question = 'Which variant is fastest on each problem, by how much, and what holds it?';

const perPage = 18;
const widest = 20;  // times the winner's: what is slower stands at the edge

const orders = {
  largest: {label: 'largest problems first', by: contest => -(contest.floorBytes || 0)},
  headroom: {label: 'farthest from the floor first', by: contest => contest.ofFloor || Infinity},
  close: {label: 'closest contests first', by: contest => contest.next || Infinity},
  clear: {label: 'clearest wins first', by: contest => -(contest.next || 0)},
  peers: {
    label: 'with peers first',
    by: contest => (contest.peers.length ? 0 : 1) - 1 / (1 + (contest.floorBytes || 0))
  }
};

/** A contest's numbers: factors over the winner's time of all that were timed. */
function standing(contest) {
  const [winner] = contest.ranked;
  const over = row => ({row, over: overFirst(contest, row)});
  const next = runnerUp(contest);
  return Object.assign({}, contest, {
    winner,
    others: contest.ranked.slice(1).concat(contest.peers).map(over),
    next: next ? overFirst(contest, next) : null,
    nextRow: next,
    peerOver: contest.peers.length ? overFirst(contest, contest.peers[0]) : null,
    ofFloor: contest.floorMs > 0 ? contest.floorMs / winner.cold_ms : null
  });
}

/**
 * {lines: [{name, winner, others: [{row, over}], tied, next, nextRow, peerOver, ofFloor}], common,
 * widest}: the problems of the page that is shown; `over` is a time over the winner's.
 */
export function model(rows, context) {
  const all = contests(rows).filter(contest => contest.ranked.length > 0).map(standing);
  if (all.length === 0) {
    return {
      empty: rows.length === 0
        ? 'No row passes the filters.'
        : 'Nothing of ours here was both right and timed, so that nothing wins.'
    };
  }
  const order = picker(context, 'order', 'Order',
    Object.keys(orders)
      .filter(name => name !== 'peers' || all.some(contest => contest.peers.length))
      .map(value => ({value, label: orders[value].label})));
  all.sort((a, b) => orders[order.value].by(a) - orders[order.value].by(b));
  const page = pageOf(all, (context.chosen || {}).page, perPage);
  const names = namesOf(page.items.map(contest => contest.row));
  page.items.forEach((contest, i) => {
    contest.name = names.each[i] || names.common;
  });
  const most = page.items.reduce(
    (high, line) => line.others.reduce((top, other) => Math.max(top, other.over), high), 1.5);
  return {
    lines: page.items,
    common: names.common,
    widest: Math.min(widest, most * 1.08),
    note: 'A mark is a variant\'s fastest tile; the winner stands at 1×. Hollow marks are peers. ' +
      '"ties": the interval of the ratio of the two medians reaches down to 1. ' +
      'Of floor: time of the bytes that have to move over the time taken.',
    choices: [order, pager(page.page, page.pages, count(all.length, 'problem'))]
  };
}

/** Where things stand. On a narrow page names have a line of their own, above the rest. */
function columnsOf(width, held) {
  if (width < 900) {
    return {
      wide: false,
      held: false,
      name: 0,
      nameRoom: width,
      above: 18,
      step: 44,
      winner: 0,
      ms: 166,
      strip: 182,
      stripWidth: width - 182 - 66,
      right: width - 50
    };
  }
  const name = Math.round(width * 0.27);
  const right = held ? 356 : 272;
  return {
    wide: true,
    held,
    name: 0,
    nameRoom: name - 10,
    above: 0,
    step: 24,
    winner: name,
    ms: name + 216,
    strip: name + 236,
    stripWidth: width - name - 236 - right - 14,
    right: width - right
  };
}

function drawFloorBar(parent, x, share) {
  parent.append('rect')
    .attr('x', x)
    .attr('y', -5)
    .attr('width', 60)
    .attr('height', 10)
    .attr('rx', 2)
    .style('fill', tone.faint);
  if (share > 0) {
    parent.append('rect')
      .attr('x', x)
      .attr('y', -5)
      .attr('width', 60 * Math.min(1, share))
      .attr('height', 10)
      .attr('rx', 2)
      .style('fill', tone.muted);
  }
  write(parent, x + 66, 0, share > 0 ? percent(share) : '–', {size: 11.5});
}

function nextText(line) {
  if (line.tied.length > 0) return `ties ${line.tied[0].variant}`;
  return line.nextRow ? `${factor(line.next)} ${line.nextRow.variant}` : 'alone';
}

function drawRight(parent, columns, line) {
  if (!columns.wide) {
    write(parent, columns.right, 0, line.nextRow ? factor(line.next) : '–',
      {size: 11.5, title: nextText(line)});
    return;
  }
  write(
    parent, columns.right, 0, fit(nextText(line), 172, 11.5), {size: 11.5, title: nextText(line)});
  drawFloorBar(parent, columns.right + 180, line.ofFloor);
  if (!columns.held) return;
  write(parent, columns.right + 282, 0, fit(line.winner.bound_by || '–', 72, 11.5),
    {size: 11.5, fill: tone.muted, title: line.winner.bound_why || ''});
}

/** The name of a problem leads to it alone, where the page offers that. */
function nameProblem(context, parent, line, columns) {
  const name = write(
    parent, columns.name, 0, fit(line.name, columns.nameRoom, 12),
    {size: 12, title: line.name, halo: true});
  if (!context.only) return;
  name.attr('class', 'link')
    .attr('tabindex', 0)
    .attr('role', 'link')
    .style('fill', tone.accent)
    .attr('aria-label', `${line.name}: this problem alone`)
    .style('cursor', 'pointer')
    .on('click', () => context.only(line.winner));
  name.node().addEventListener('keydown', event => {
    if (event.key !== 'Enter') return;
    event.stopPropagation();
    context.only(line.winner);
  });
}

function drawLine(context, parent, line, columns, x) {
  nameProblem(context, groupAt(parent, 0, -columns.above), line, columns);
  mark(context, parent, columns.winner + 6, 0, line.winner, null, {
    reach: 0
  }).attr('class', 'key-mark');
  write(parent, columns.winner + 16, 0, fit(line.winner.variant, columns.wide ? 136 : 94, 12),
    {size: 12, weight: 600, title: line.winner.variant});
  write(parent, columns.ms, 0, time(line.winner.cold_ms), {size: 12, anchor: 'end'});
  rule(parent, x(1), 0, x(x.domain()[1]), 0);
  const edge = x.domain()[1];
  for (const other of line.others.slice().reverse()) {
    mark(context, parent, x(Math.min(other.over, edge)), 0, other.row,
      {line, row: other.row, over: other.over});
  }
  mark(context, parent, x(1), 0, line.winner, {line, row: line.winner, over: 1}, {size: 90});
  drawRight(parent, columns, line);
}

function drawHead(svg, columns, y) {
  const look = {size: 11, fill: tone.muted};
  if (columns.wide) write(svg, columns.name, y, 'problem', look);
  write(svg, columns.winner, y, 'fastest', look);
  write(svg, columns.ms, y, 'time', Object.assign({anchor: 'end'}, look));
  write(svg, columns.strip, y, 'time over the fastest', look);
  write(svg, columns.right, y, 'next', look);
  if (!columns.wide) return;
  write(svg, columns.right + 180, y, 'of floor', look);
  if (columns.held) write(svg, columns.right + 282, y, 'bound by', look);
}

export function draw(node, shown, context) {
  const columns = columnsOf(context.width, shown.lines.some(line => line.winner.bound_by));
  const {above, step} = columns;
  const top = 44;
  const height = shown.lines.length * step;
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height: top + height + 26,
    about:
      `${question} ${shown.lines.map(line => `${line.name}: ${line.winner.variant}`).join('; ')}.`
  });
  write(svg, 0, 10, shown.common, {size: 12.5, weight: 600});
  drawHead(svg, columns, 30);
  const x = scaleLog().domain([1, shown.widest]).range([0, columns.stripWidth]);
  const ticks = [1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20].filter(tick => tick <= shown.widest);
  axisBelow(groupAt(svg, columns.strip, top), {
    scale: x,
    ticks,
    format: value => `${value === widest ? '≥' : ''}${factorTick(value)}`,
    width: columns.stripWidth,
    height
  });
  const at = value => columns.strip + x(value);
  at.domain = () => x.domain();
  shown.lines.forEach((line, i) => drawLine(context,
                        groupAt(svg, 0, top + (i + 0.5) * step + above / 2), line, columns, at));
  interactive(context, svg.selectAll('.mark'), {
    describe: datum => datum.row,
    say: datum => `${datum.line.name}: ${datum.row.variant} ${time(datum.row.cold_ms)}, ` +
      `${factor(datum.over)} of the fastest ${tileName(datum.row.tile)}`
  });
}
