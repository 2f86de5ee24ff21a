// Which variant to use: the answer for a problem, or how often each variant wins among many.

import {element} from './dom.js';
import {contests, countsOf, overFirst, runnerUp} from './figures/contest.js';
import {fullNamesOf} from './figures/problem.js';
import * as formats from './formats.js';
import {copyButton} from './panel.js';
import {swatch} from './swatch.js';

const answered = 4; // problems that have an answer each; of more there is a summary

/**
 * What there is to say of one contest, as numbers: {row: the winner, next: {row, over} or null,
 * tied: those that cannot be told from the winner, peer: {row, over} or null, ofFloor}.
 */
export function answerOf(contest) {
  const [row] = contest.ranked;
  const against = other => other ? {row: other, over: overFirst(contest, other)} : null;
  return {row, next: against(runnerUp(contest)), tied: contest.tied,
    peer: against(contest.peers[0]),
    ofFloor: contest.floorMs === null ? null : contest.floorMs / row.cold_ms,
    floorMs: contest.floorMs};
}

/** `whole`: it takes a line of its own. */
function fact(label, value, more, whole = false) {
  return element('div', {class: whole && 'whole'}, element('dt', {}, label),
    element('dd', {}, value, more && element('span', {class: 'also'}, more)));
}

function rivalFact(label, rival, options, none) {
  if (!rival) return fact(label, formats.nothing, none);
  const words = rival.over >= 1 ? `${formats.factor(rival.over)} as long`
    : `${formats.factor(1 / rival.over)} faster`;
  return fact(label, [swatch(rival.row.variant, options.dark), rival.row.name],
    `${words}, ${formats.duration(rival.row.cold_ms)}`);
}

function errorFact(row) {
  if (row.error === null) return null;
  return fact('error', `${formats.error(row.error)}`,
    `${formats.percent(row.error / row.bound)} of what is allowed`);
}

function card(name, answer, options) {
  const {row, next, tied, peer} = answer;
  return element('div', {class: 'answer'}, element('p', {class: 'answer-problem'}, name),
    element('p', {class: 'answer-winner'}, swatch(row.variant, options.dark, 18),
      element('button', {type: 'button', class: 'link', click: () => options.open(row)},
        row.name), ` ${formats.duration(row.cold_ms)}`,
      tied.length > 0 && element('span', {class: 'also'},
        `not to be told from ${tied.map(other => other.variant).join(', ')}`)),
    element('dl', {class: 'facts'},
      fact('of the floor', formats.percent(answer.ofFloor), answer.floorMs !== null &&
        `which is ${formats.duration(answer.floorMs)}`),
      rivalFact('next variant', next, options, tied.length > 0 ? 'none that is clearly slower'
        : 'no other was right and timed'),
      rivalFact('best peer', peer, options, 'none was measured'),
      row.bound_by && fact('held by', row.bound_by, row.bound_why),
      fact('workspace', formats.bytes(row.workspace_bytes), row.measured_bytes !== null &&
        `${formats.bytes(row.measured_bytes)} moved, ` +
        `${formats.factor(row.measured_bytes / row.floor_bytes)} the floor's`),
      errorFact(row), row.tile_label && fact('tile', row.tile_label, '', true)),
    row.command && copyButton(() => row.command, 'Copy the command that repeats it'));
}

function summary(list, options) {
  const names = fullNamesOf(list.map(contest => contest.row));
  const order = names.map((name, at) => at).sort((a, b) => names[a] < names[b] ? -1 : 1);
  const select = element('select', {'aria-label': 'Problem to answer for', id: 'problem',
    change: event => options.choose(list[Number(event.target.value)].row)},
  element('option', {value: '', selected: true, disabled: true}, 'choose a problem'),
  order.map(at => element('option', {value: at}, names[at])));
  const wins = countsOf(list, contest => contest.ranked[0].variant);
  return element('div', {class: 'answer'},
    element('p', {class: 'wins'}, `Of ${formats.plural(list.length, 'problem')} `,
      wins.map(([variant, number], at) => [at > 0 && ', ',
        element('span', {class: 'win'}, swatch(variant, options.dark), element('b', {}, variant),
          ` wins ${formats.count(number)}`)]), '.'),
    element('label', {class: 'pick'}, 'Which to use for ', select));
}

/**
 * `options`: {dark, open(row): its panel, choose(row): leave its problem alone}
 */
export function winnersSection(rows, options) {
  const list = contests(rows).filter(contest => contest.ranked.length > 0);
  if (list.length === 0) {
    return element('p', {class: 'empty'}, 'Nothing that the filters leave was right and timed.');
  }
  if (list.length > answered) return summary(list, options);
  const names = fullNamesOf(list.map(contest => contest.row));
  return element('div', {class: 'answers', id: 'answer'},
    list.map((contest, at) => card(names[at], answerOf(contest), options)));
}
