// Time against length, a panel for each family of problems that differ in nothing else.

import {pager, picker} from './choices.js';
import {contests, groupBy, variantsOf} from './contest.js';
import {pageOf} from './layout.js';
import {familyKey, lengthOf, namesOf} from './problem.js';
import {drawPanels, isSeries} from './series.js';
import {count} from './units.js';

export const id = 'time';
export const title = 'Time against length';
export const question = 'How does each variant grow with the length, and where do they cross?';

const perPage = 6;
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

export function draw(node, shown, context) {
  drawPanels(node, shown, context, {id, title, question});
}
