// Ours against the peers and the floor, problem by problem.

import {scaleLog} from 'd3';

import {pager} from './choices.js';
import {contests, isFailure, overFirst} from './contest.js';
import {axisBelow, groupAt, interactive, mark, rule, svgOf, tone, write} from './frame.js';
import {fit, pageOf, textWidth} from './layout.js';
import {nameOf, namesOf} from './problem.js';
import {count, factor, factorTick, logTicks, time} from './units.js';

export const id = 'peers';
export const title = 'Peers and the floor';
export const question = 'How does the best of ours compare with other people\'s kernels, and how ' +
  'far is either from the floor?';

const perPage = 8;
const step = 22;

function barOf(row, contest) {
  const unit = contest.floorMs || contest.ranked[0].cold_ms;
  const ours = contest.ranked[0];
  return {
    row,
    over: row.cold_ms / unit,
    overOurs: row.peer && ours ? overFirst(contest, row) : null
  };
}

function groupOf(contest) {
  const failed = contest.rows.filter(
    row => row.peer && isFailure(row) && !contest.peers.some(peer => peer.variant === row.variant));
  return {
    row: contest.row,
    floorMs: contest.floorMs,
    bars: contest.ranked.slice(0, 1).concat(contest.peers).map(row => barOf(row, contest)),
    failed,
    gain: contest.ranked.length && contest.peers.length
      ? overFirst(contest, contest.peers[0])
      : null
  };
}

/** What the best peers take of our time, in a sentence; "" without peers beside ours. */
function gainOf(gains) {
  if (gains.length === 0) return '';
  const [least, most] = [Math.min(...gains), Math.max(...gains)];
  if (gains.length === 1) return `The best peer takes ${factor(least)} of our time. `;
  return `Over ${gains.length} problems the best peer takes ${factor(least)} to ${factor(most)} ` +
    'of our time. ';
}

/**
 * {groups: [{name, floorMs, bars: [{row, over, overOurs}], failed, gain}]}: `over` is the time over
 * the floor's (over ours where no floor is known), `gain` the best peer's time over ours.
 */
export function model(rows, context) {
  const all = contests(rows)
                .filter(contest => contest.rows.some(row => row.peer) &&
                    contest.ranked.length + contest.peers.length > 0 &&
                    (contest.floorMs > 0 || contest.ranked.length > 0))
                .map(groupOf);
  if (all.length === 0) {
    return {empty: rows.length === 0 ? 'No row passes the filters.' : 'No row here is of a peer.'};
  }
  all.sort((a, b) => (b.floorMs || 0) - (a.floorMs || 0));
  const page = pageOf(all, (context.chosen || {}).page, perPage);
  const names = namesOf(page.items.map(group => group.row));
  page.items.forEach((group, i) => {
    group.name = names.each[i] || names.common;
  });
  return {
    groups: page.items,
    common: names.common,
    note: `${gainOf(all.map(group => group.gain).filter(gain => gain !== null))}1× is the ` +
      'floor: the bytes that have to move, at the measured copy rate. Hollow: peers, by their ' +
      'own timing under the same rules.',
    choices: [pager(page.page, page.pages, count(all.length, 'problem'))]
  };
}

/** "1.33 ms, 8.35× · 7.88× of ours"; on a narrow page without the floor's factor. */
function wordsOf(bar, width) {
  const ours = bar.overOurs === null ? '' : `${factor(bar.overOurs)} of ours`;
  if (width < 420) return `${time(bar.row.cold_ms)}${ours ? ` · ${ours}` : ''}`;
  return `${time(bar.row.cold_ms)}, ${factor(bar.over)}${ours ? ` · ${ours}` : ''}`;
}

function drawBar(context, parent, bar, x, width) {
  const colour = context.colour(bar.row.variant);
  const group = groupAt(parent, 0, 0).attr('class', 'bar').datum(bar);
  const from = x(1);
  const end = x(bar.over);
  group.append('rect')
    .attr('x', Math.min(from, end))
    .attr('y', -7)
    .attr('width', Math.max(1.5, Math.abs(end - from)))
    .attr('height', 14)
    .attr('rx', 2)
    .style('fill', bar.row.peer ? tone.surface : colour)
    .style('stroke', colour)
    .attr('stroke-width', 1.3)
    .attr('stroke-dasharray', bar.row.peer ? '4 3' : null);
  write(group, Math.max(end, from) + 7, 0, wordsOf(bar, width),
    {size: 11.5, halo: true, weight: bar.row.peer ? 400 : 600});
}

function drawGroups(context, plot, shown, {x, left, width}) {
  let y = 14;
  for (const group of shown.groups) {
    write(plot, -left, y, fit(group.name, left + width - 110, 12),
      {size: 12, weight: 600, title: nameOf(group.row), halo: true});
    if (group.floorMs) {
      write(plot, width, y, `floor ${time(group.floorMs)}`,
        {size: 11, anchor: 'end', fill: tone.muted, halo: true});
    }
    y += step;
    for (const bar of group.bars) {
      mark(context, plot, 8 - left, y, bar.row, null, {size: 50, reach: 0})
        .attr('class', 'key-mark');
      write(plot, 18 - left, y, fit(bar.row.variant, left - 30, 11.5),
        {size: 11.5, title: bar.row.variant});
      drawBar(context, groupAt(plot, 0, y), bar, x, width);
      y += step;
    }
    for (const row of group.failed) {
      write(plot, 18 - left, y, fit(row.variant, left - 30, 11.5),
        {size: 11.5, title: row.variant, fill: tone.muted});
      write(plot, x(1) + 7, y,
        fit(`${row.status}${row.reason ? `: ${row.reason}` : ''}`, width * 0.7, 11.5),
        {size: 11.5, fill: tone.warn, halo: true});
      y += step;
    }
    y += 12;
  }
}

export function draw(node, shown, context) {
  const left = Math.min(250, context.width * 0.26);
  const width = context.width - left - 8;
  const height = shown.groups.reduce(
    (sum, group) => sum + 34 + (group.bars.length + group.failed.length) * step, 0);
  const top = 26;
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height: top + height + 40,
    about: `${question} ${
      shown.groups
        .map(group => `${group.name}: ${
               group.gain === null ? 'no peer' : `best peer ${factor(group.gain)} of ours`}`)
        .join('; ')}.`
  });
  write(svg, 0, 8, shown.common, {size: 12.5, weight: 600});
  const overs =
    shown.groups.reduce((all, group) => all.concat(group.bars.map(bar => bar.over)), []);
  const low = Math.min(1, overs.reduce((a, b) => Math.min(a, b), 1)) / 1.04;
  const high = Math.max(2, overs.reduce((a, b) => Math.max(a, b), 1));
  const room = shown.groups.reduce(
    (most, group) => group.bars.reduce(
      (wide, bar) => Math.max(wide, textWidth(wordsOf(bar, width), 12) + 12), most),
    0);
  const x = scaleLog().domain([low, high]).range([0, width - room]);
  const plot = groupAt(svg, left, top);
  axisBelow(plot, {
    scale: x,
    ticks: logTicks(low, high, 8),
    format: factorTick,
    label: 'time over the floor',
    width: width - room,
    height
  });
  rule(plot, x(1), 0, x(1), height, {stroke: tone.ink, width: 1.4, dash: '4 3'});
  drawGroups(context, plot, shown, {x, left, width});
  interactive(context, svg.selectAll('.bar'), {
    describe: bar => bar.row,
    say: bar => `${nameOf(bar.row)}: ${bar.row.variant} ${time(bar.row.cold_ms)}, ` +
      `${factor(bar.over)} of the floor${
        bar.overOurs === null ? '' : `, ${factor(bar.overOurs)} of ours`}`
  });
}
