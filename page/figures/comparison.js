// Two runs held against each other: each row's change with its interval and verdict.

import {scaleLog} from 'd3';

import {pager, picker} from './choices.js';
import {countsOf} from './contest.js';
import {axisBelow, groupAt, interactive, rule, svgOf, tone, write} from './frame.js';
import {fit, pageOf} from './layout.js';
import {change, count, time} from './units.js';

export const id = 'comparison';
export const title = 'Against another run';
export const question = 'What became faster or slower, by how much, and can it be told from noise?';

const perPage = 24;
const bad = [
  'slower', 'wrong', 'crashed', 'timeout', 'build_failed', 'run_failed', 'less accurate', 'missing'
];

/** Regressions and faults first, then gains, then what cannot be told, then what is the same. */
function rankOf(row) {
  if (row.outcome === 'wrong') return 0;
  if (row.outcome === 'regression' || bad.includes(row.verdict)) return 1;
  if (row.verdict === 'faster') return 2;
  if (row.outcome === 'inconclusive') return 3;
  return row.times ? 4 : 5;
}

function toneOf(verdict, outcome) {
  if (outcome === 'wrong' || outcome === 'regression' || bad.includes(verdict)) return 'bad';
  if (verdict === 'faster' || verdict === 'mended') return 'good';
  return verdict === 'inconclusive' || outcome === 'inconclusive' ? 'warn' : 'muted';
}

/**
 * "chunk [cuda] a=1 on gla forward bfloat16 seq_first B=1 ... seed=1" as {variant, tile, problem}
 * in fewer words; the whole text as the problem where it has another form.
 */
export function subjectOf(text) {
  const match = /^(\S+) \[\w+\] ?(.*?) ?on (.*)$/.exec(text);
  if (!match) return {variant: '', tile: '', problem: text};
  const problem = match[3]
                    .replace(/bfloat16/, 'bf16')
                    .replace(/float(16|32)/, 'fp$1')
                    .replace(/ seq_first/, '')
                    .replace(/ seed=\S+/, '')
                    .replace(/gate=/, '');
  return {variant: match[1], tile: match[2].replace(/,/g, ' '), problem};
}

const distance = row =>
  (row.times && Number.isFinite(row.times.ratio) ? Math.abs(Math.log(row.times.ratio)) : 0);

function tellOf(row) {
  const lines = [['verdict', row.verdict]];
  if (row.tile) lines.push(['tile', row.tile]);
  if (row.times) {
    lines.push(['change', change(row.times.ratio)],
      ['interval', `${change(row.times.low)} to ${change(row.times.high)}`],
      ['before', time(row.times.base_ms)], ['now', time(row.times.new_ms)]);
  }
  if (row.why) lines.push(['why', row.why]);
  return {title: `${row.variant} ${row.problem}`.trim(), lines, row: row.record};
}

/**
 * The rows of a comparison that the page's filters leave: those whose record is left, and those
 * that have none in the new run (missing ones).
 */
function left(comparison, rows, all) {
  const place = (file, number) => `${file}#${number}`;
  const records = new Map(all.map(row => [place(row.file, row.row), row]));
  const kept = new Set(rows);
  return comparison.rows
    .map(row => Object.assign({record: records.get(place(row.file, row.new_row)) || null}, row))
    .filter(row => !row.record || kept.has(row.record));
}

/** "a/b.json, c/d.json" without folders; the number of files where they are many. */
function fileNames(text) {
  const files = String(text).split(', ').map(file => file.replace(/^.*\//, ''));
  return files.length > 4 ? count(files.length, 'file') : files.join(', ');
}

/** {verdict, count, tone}, the most frequent first. */
function verdictsOf(rows) {
  return countsOf(rows, row => row.verdict).map(([verdict, number]) => {
    const {outcome} = rows.find(row => row.verdict === verdict);
    return {verdict, count: number, tone: toneOf(verdict, outcome)};
  });
}

/** How far from 1 an axis has to reach for these rows and the smallest change that counts. */
function reachOf(rows, minEffect) {
  const values =
    [].concat(
        ...rows.filter(row => row.times).map(({times}) => [times.low, times.high, times.ratio]))
      .map(Number)
      .filter(value => value > 0 && Number.isFinite(value));
  const most = values.reduce((far, value) => Math.max(far, value, 1 / value), 1 + 3 * minEffect);
  return Math.min(most, 10) * 1.02;
}

function noteOf(comparison) {
  const drift = comparison.paired ? ' of interleaved rounds'
    : comparison.drift
    ? `, widened by ${(100 * comparison.drift).toFixed(1)} % for drift between the runs`
    : '';
  const differences =
    (comparison.differences || []).map(one => `${one.key} ${one.base} before, ${one.new} now`);
  const band = `±${(100 * comparison.min_effect).toFixed(1)} %`;
  return `New time over old; bars are the 95 % intervals${drift}. The band is the smallest ` +
    `change that counts, ${band}.${
      differences.length ? ` Differs: ${differences.join('; ')}.` : ''}`;
}

/**
 * {rows: [{row, variant, tile, problem, verdict, tone, times, why, record}], counts: [{verdict,
 * count, tone}], total, minEffect, base, fresh, outcome, reach}: of context.comparison, the
 * program's comparison of two runs. Ratios are new times over the base's; `reach` is how far from 1
 * the intervals that are shown go.
 */
export function model(rows, context) {
  const comparison = context.comparison;
  if (!comparison) {
    return {empty: 'This page is of one run. Made with --against it compares two here.'};
  }
  const all = left(comparison, rows, context.all || []);
  if (all.length === 0) {
    return {
      empty: comparison.rows.length === 0 ? 'The two runs have no row that could be compared.'
                                          : 'No compared row passes the filters.'
    };
  }
  const counts = verdictsOf(all);
  const only = picker(context, 'verdict', 'Show',
    [{value: '', label: `all ${count(all.length, 'row')}`}].concat(
      counts.map(one => ({value: one.verdict, label: `${one.verdict} (${one.count})`}))),
    '');
  const ordered = all.filter(row => !only.value || row.verdict === only.value)
                    .sort((a, b) => rankOf(a) - rankOf(b) || distance(b) - distance(a));
  const page = pageOf(ordered, (context.chosen || {}).page, perPage);
  return {
    rows: page.items.map(
      row => Object.assign({tone: toneOf(row.verdict, row.outcome)}, subjectOf(row.row), row)),
    counts,
    total: all.length,
    minEffect: comparison.min_effect,
    base: fileNames(comparison.base),
    fresh: fileNames(comparison.new),
    outcome: comparison.outcome,
    reach: reachOf(page.items, comparison.min_effect),
    note: noteOf(comparison),
    choices: [only, pager(page.page, page.pages, count(ordered.length, 'row'))]
  };
}

function drawCounts(svg, shown, width) {
  let x = 0;
  const total = shown.total;
  for (const part of shown.counts) {
    const room = width * part.count / total;
    svg.append('rect')
      .attr('x', x)
      .attr('y', 26)
      .attr('width', Math.max(1, room - 1.5))
      .attr('height', 10)
      .attr('rx', 2)
      .style('fill', tone[part.tone])
      .attr('opacity', part.tone === 'muted' ? 0.45 : 1)
      .append('title')
      .text(`${part.verdict}: ${part.count}`);
    x += room;
  }
  write(
    svg, 0, 50, shown.counts.map(part => `${part.count} ${part.verdict}`).join(' · '), {size: 12});
}

function drawRow(parent, row, x, columns) {
  const group = groupAt(parent, 0, 0).attr('class', 'row').datum(row);
  group.append('rect')
    .attr('y', -10)
    .attr('width', columns.width)
    .attr('height', 20)
    .style('fill', 'transparent');
  const name = columns.strip * 0.3;
  write(group, 0, 0, fit(row.variant, name - 8, 11.5), {size: 11.5, weight: 600, title: row.row});
  write(group, row.variant ? name : 0, 0, fit(row.problem, columns.strip - name - 14, 11.5),
    {size: 11.5, title: row.row});
  write(group, columns.right, 0, row.verdict, {size: 11.5, weight: 600, fill: tone[row.tone]});
  const times = row.times;
  if (!times || !(times.ratio > 0)) {
    write(group, columns.strip, 0, fit(row.why || '', columns.right - columns.strip - 10, 11),
      {size: 11, fill: tone.muted, title: row.why || ''});
    return;
  }
  const [low, high] = x.domain();
  const clamp = value => columns.strip + x(Math.min(high, Math.max(low, value)));
  rule(group, clamp(times.low), 0, clamp(times.high), 0, {stroke: tone[row.tone], width: 3});
  group.append('circle')
    .attr('cx', clamp(times.ratio))
    .attr('cy', 0)
    .attr('r', 4.5)
    .style('fill', tone[row.tone])
    .style('stroke', tone.surface);
  write(group, columns.width, 0, `${change(times.ratio)} · ${time(times.new_ms)}`,
    {size: 11.5, anchor: 'end'});
}

/** Ratios to mark on an axis from 1/reach to reach: few, and 1 among them. */
function ticksWithin(reach) {
  const steps = reach > 4 ? [2, 5, 10]
    : reach > 1.6         ? [1.25, 1.5, 2, 3]
    : reach > 1.25        ? [1.1, 1.25, 1.5]
                          : [1.02, 1.05, 1.1, 1.2];
  const above = steps.filter(step => step <= reach);
  return above.map(step => 1 / step).reverse().concat([1], above);
}

export function draw(node, shown, context) {
  const width = context.width;
  const columns = {width, strip: width * 0.42, right: width - 246};
  const step = 22;
  const top = 74;
  const height = shown.rows.length * step;
  const svg = svgOf(context, node, {
    id,
    title,
    width,
    height: top + height + 40,
    about: `${question} ${shown.counts.map(part => `${part.count} ${part.verdict}`).join(', ')}.`
  });
  const heading = `${shown.outcome}: ${shown.fresh} against ${shown.base}`;
  write(svg, 0, 10, fit(heading, width, 12.5), {size: 12.5, weight: 600, title: heading});
  drawCounts(svg, shown, width);
  const room = columns.right - columns.strip - 16;
  const x = scaleLog().domain([1 / shown.reach, shown.reach]).range([0, room]);
  const plot = groupAt(svg, columns.strip, top);
  plot.append('rect')
    .attr('x', x(1 / (1 + shown.minEffect)))
    .attr('width', x(1 + shown.minEffect) - x(1 / (1 + shown.minEffect)))
    .attr('height', height)
    .style('fill', tone.faint)
    .attr('opacity', 0.6);
  const ticks = ticksWithin(shown.reach);
  axisBelow(plot, {
    scale: x,
    ticks,
    format: value => (value === 1 ? 'same' : change(value).replace('.0 %', ' %')),
    label: 'slower to the right',
    width: room,
    height
  });
  rule(plot, x(1), 0, x(1), height, {stroke: tone.ink, width: 1.2});
  shown.rows.forEach((row, i) => drawRow(groupAt(svg, 0, top + (i + 0.5) * step), row, x, columns));
  interactive(context, svg.selectAll('.row'), {
    describe: tellOf,
    say: row => `${row.row}: ${row.verdict}${row.times ? `, ${change(row.times.ratio)}` : ''}`
  });
}
