// How often each variant wins, by operator, direction and dtype.

import {contests, groupBy, keysOf} from './contest.js';
import {groupAt, interactive, keyLines, resize, svgOf, tone, write} from './frame.js';
import {fit, textWidth} from './layout.js';
import {count, dtype, percent} from './units.js';

export const id = 'tally';
export const title = 'Who wins how often';
/** The page leaves the figure out where there is nothing to show. */
export const optional = true;
export const question = 'Which variant is the first choice for an operator, and where is it not?';

function median(values) {
  const sorted = values.slice().sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function barOf(list) {
  const [first] = list;
  const won = groupBy(list, contest => contest.ranked[0].variant);
  const parts = Array
                  .from(won, ([variant, contestsWon]) => ({
                    variant,
                    rows: contestsWon.map(contest => contest.ranked[0]),
                    count: contestsWon.length,
                    tied: contestsWon.filter(contest => contest.tied.length > 0).length
                  }))
                  .sort((a, b) => b.count - a.count || (a.variant < b.variant ? -1 : 1));
  let from = 0;
  for (const part of parts) {
    part.from = from / list.length;
    from += part.count;
    part.to = from / list.length;
  }
  const shares = list.filter(contest => contest.floorMs > 0)
                   .map(contest => contest.floorMs / contest.ranked[0].cold_ms);
  return {
    name: `${first.row.operator} ${first.row.direction} ${dtype(first.row.dtype)}`,
    problems: list.length,
    parts,
    ofFloor: shares.length ? median(shares) : null
  };
}

/**
 * {bars: [{name, problems, parts: [{variant, count, tied, from, to, rows}], ofFloor}]}: problems by
 * operator, direction and dtype; `from` and `to` are shares of the bar, `tied` the wins that
 * cannot be told from the next, `ofFloor` the winners' median.
 */
export function model(rows) {
  const won = contests(rows).filter(contest => contest.ranked.length > 0);
  if (won.length === 0) {
    return {
      empty: rows.length === 0 ? 'No row passes the filters.'
                               : 'Nothing of ours here was both right and timed.'
    };
  }
  if (won.length === 1) return {empty: 'One problem is left, which has one winner.'};
  const groups = groupBy(
    won, contest => `${contest.row.operator} ${contest.row.direction} ${contest.row.dtype}`);
  const bars = Array.from(groups.values(), barOf).sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    bars,
    keys: keysOf(won.map(contest => contest.ranked[0])),
    note: 'Each problem counts once, for the variant whose fastest right tile has the shortest ' +
      'median. "≈": wins that cannot be told apart from another variant. ' +
      'Of floor: the winners\' median.'
  };
}

function drawPart(context, place, part, width, height) {
  const x = part.from * width;
  const room = Math.max(1, (part.to - part.from) * width - 1.5);
  const group = groupAt(place, x, 0).attr('class', 'part').datum(part);
  group.append('rect')
    .attr('width', room)
    .attr('height', height)
    .attr('rx', 2)
    .style('fill', context.colour(part.variant));
  const tied = part.tied ? ` ≈${part.tied}` : '';
  const words =
    [`${part.variant} ${part.count}${tied}`, `${part.count}${tied}`, String(part.count)].find(
      text => textWidth(text, 11.5) + 10 < room);
  if (words) {
    write(group, 6, height / 2, words,
      {size: 11.5, weight: 600, fill: context.dark ? '#0d1117' : '#ffffff'});
  }
}

export function draw(node, shown, context) {
  const step = 28;
  const left = Math.min(230, context.width * 0.28);
  const right = 130;
  const width = context.width - left - right;
  const svg = svgOf(context, node, {
    id,
    title,
    width: context.width,
    height: 100,
    about: `${question} ${
      shown.bars
        .map(bar => `${bar.name}: ${bar.parts[0].variant} ${bar.parts[0].count} of ${bar.problems}`)
        .join('; ')}.`
  });
  const top = keyLines(context, svg, shown.keys, context.width) + 24;
  resize(svg, context.width, top + shown.bars.length * step);
  write(svg, context.width - right + 12, top - 12, 'problems', {size: 11, fill: tone.muted});
  write(svg, context.width, top - 12, 'of floor', {size: 11, fill: tone.muted, anchor: 'end'});
  shown.bars.forEach((bar, i) => {
    const place = groupAt(svg, 0, top + i * step);
    write(place, 0, step / 2 - 2, fit(bar.name, left - 10, 12), {size: 12, title: bar.name});
    const strip = groupAt(place, left, 2);
    for (const part of bar.parts) drawPart(context, strip, part, width, step - 8);
    write(place, context.width - right + 12, step / 2 - 2, String(bar.problems), {size: 12});
    write(place, context.width, step / 2 - 2, bar.ofFloor === null ? '–' : percent(bar.ofFloor),
      {size: 12, anchor: 'end'});
  });
  const say = part => `${part.variant} wins ${count(part.count, 'problem')}${
    part.tied ? `, ${part.tied} of them a tie` : ''}`;
  interactive(context, svg.selectAll('.part'), {
    describe: part => ({
      title: part.variant,
      lines: [['wins', String(part.count)], ['of them ties', String(part.tied)]]
    }),
    say
  });
}
